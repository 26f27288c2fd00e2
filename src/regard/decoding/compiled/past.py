"""What all layers remember, as a table that the machine code reads."""

import numpy as np
import torch
from torch import Tensor

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.plan import Plan
from regard.decoding.compiled.positions import certain, place
from regard.decoding.compiled.weights import need
from regard.model.memory import Claim, Memory, Past, SourceKeysValues
from regard.model.positions import Where


class PastTable:
    """Addresses of keys and values, looked at again only where an entry has taken others."""

    def __init__(self, plan: Plan) -> None:
        self._shape, self._weights, layers = plan.shape, plan.weights, plan.layers
        self.table = np.zeros((layers, at.PAST_SIZE), np.int64)
        self._kept: list[tuple[Tensor, ...]] = [()] * layers
        self._read: list[tuple[Tensor, ...]] = [()] * layers
        self._met: Memory | None = None

    def begin(self, memory: Memory) -> None:
        """Room for the first positions of a memory that holds nothing yet."""
        if memory is not self._met:
            self._meet(memory)
        for entry in memory.layers:
            if isinstance(entry, Past):
                entry.make_room((memory.rows, self._shape.heads.groups, self._shape.heads.width))

    def claim(self, memory: Memory, where: Where, ahead: bool = False) -> Claim:
        """Room for more positions in every layer, or `ahead` for several steps of hypotheses that part on the way.

        All have it at one place, given back is that of the first.
        """
        if memory is not self._met:
            self._meet(memory)
        past = [entry for entry in memory.layers if isinstance(entry, Past)]
        claims = (entry.ahead(where) if ahead else entry.claim(where) for entry in past)
        first = next(claims)
        need(first is not None)
        assert first is not None
        shape = (memory.rows // first.share, self._shape.heads.groups, self._shape.heads.width)
        certain(first.keys.shape[0] == shape[0])
        self._note(0, first, shape, where.count)
        for layer, claim in enumerate(claims, 1):
            certain(claim is not None)
            assert claim is not None
            certain((claim.own, claim.width, claim.share) == (first.own, first.width, first.share))
            self._note(layer, claim, shape, where.count)
        self._look_at_sources(memory)
        return first

    def _meet(self, memory: Memory) -> None:
        """Whether this is a memory that the machine code can read, asked before anything is changed."""
        need(not self._weights.moved)  # asked at the beginning of texts: nobody exchanges weights in the midst of one
        layers, crosses = len(self.table), len(self.table) if self._shape.cross.all else 0
        need(len(memory.layers) == layers and all(isinstance(entry, Past) for entry in memory.layers))
        need(len(memory.cross) == crosses and all(type(entry) is SourceKeysValues for entry in memory.cross))
        for tensor in (tensor for entry in memory for tensor in entry.tensors()):
            need(tensor.dtype == torch.float32 and tensor.device.type == "cpu")
        self._met = memory

    def _note(self, layer: int, claim: Claim, shape: tuple[int, int, int], count: int) -> None:
        kept = (claim.keys, claim.values, *(claim.apart or ()))
        if len(kept) != len(self._kept[layer]) or any(map(_other, kept, self._kept[layer])):
            self.table[layer, : at.FIRST_KEYS] = place(claim.keys, claim.values, shape)
            self.table[layer, at.FIRST_KEYS : at.SOURCE_KEYS] = place(*claim.apart, shape) if claim.apart else 0
            self._kept[layer] = kept
        certain(claim.keys.shape[2] >= claim.own + claim.share * count)

    def _look_at_sources(self, memory: Memory) -> None:
        for layer, entry in enumerate(memory.cross):
            if entry.held is not self._read[layer]:
                keys, values = entry.held
                sources = memory.rows // memory.share
                shape = (sources, self._shape.cross.groups, self._shape.cross.width)
                self.table[layer, at.SOURCE_KEYS :] = place(keys, values, shape)
                self._read[layer] = entry.held


def _other(one: Tensor, other: Tensor) -> bool:
    return one is not other
