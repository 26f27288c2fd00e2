"""Every key and value so far."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.model.memory.branches import Branches
from regard.model.memory.entry import Claim, Entry, Past, beside, columns, grown, picked, room
from regard.model.positions import Where

FIRST = 8  # positions that there is room for at first


class KeysValues(Past):
    """Every key and value so far, in buffers that grow by doubling. A column is a step of the whole batch."""

    def __init__(self) -> None:
        self._buffers: list[Tensor] = []

    def make_room(self, shape: tuple[int, int, int]) -> None:
        rows, heads, width = shape
        if not self._buffers:
            self._buffers = [torch.empty(rows, heads, FIRST, width) for _ in ("keys", "values")]

    @property
    def roomy(self) -> bool:
        return bool(self._buffers)

    def append(
        self, keys: Float[Tensor, "B G T K"], values: Float[Tensor, "B G T C"], where: Where
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S C"], Int[Tensor, "*B S"]]:
        stop = self.length + keys.shape[2]
        if not self._buffers:
            self._buffers = [room(keys, stop), room(values, stop)]
        if stop > self._buffers[0].shape[2]:
            self._buffers = [grown(buffer, self.length, stop) for buffer in self._buffers]
        for buffer, new in zip(self._buffers, (keys, values), strict=True):
            buffer[:, :, self.length : stop] = new
        self.length = stop
        keys, values = (buffer[:, :, :stop] for buffer in self._buffers)
        at = columns(0, stop, keys.device)
        return keys, values, at if where.within is None else at - (stop - 1 - where.within[:, -1:])

    def claim(self, where: Where) -> Claim | None:
        if not self._buffers:
            return None
        own, stop = self.length, self.length + where.count
        if stop > self._buffers[0].shape[2]:
            self._buffers = [grown(buffer, own, stop) for buffer in self._buffers]
        self.length = stop
        return Claim(self._buffers[0], self._buffers[1], own)

    def ahead(self, where: Where) -> Claim | None:
        return self.claim(where)

    def taken(self, seen: Bool[Tensor, "B 1 k S"] | None, less: int) -> None:
        self.length -= less

    def mark(self, ahead: int) -> Any:
        return self.length

    def back(self, mark: Any, kept: int) -> bool:
        self.length = mark + kept
        return True

    def tensors(self) -> list[Tensor]:
        return [buffer[:, :, : self.length] for buffer in self._buffers]

    def spread(self, again: Int[Tensor, "R"], share: int, begin: Int[Tensor, "B"] | None) -> Entry:
        return Branches(self.tensors(), share, begin) if self._buffers else self

    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        self._buffers = [picked(buffer, rows, self.length) for buffer in self._buffers]

    def join(self, others: Sequence[Entry]) -> None:
        parts = [self.tensors(), *(other.tensors() for other in others)]
        self._buffers = [beside(tensors) for tensors in zip(*parts, strict=True)]
        self.length = max((part[0].shape[2] for part in parts if part), default=0)

    def trim(self, columns: int) -> None:
        self._buffers = [buffer[:, :, columns:] for buffer in self._buffers]
        self.length = max(0, self.length - columns)
