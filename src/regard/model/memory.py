"""What a decoder keeps between steps: one entry a layer, passed as an argument.

Beam search, sampling and the server treat every decoder alike: whatever it keeps has a
`length`, can be `reorder`ed, and says how many bytes it takes.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.mask import Mask


class Entry(ABC):
    """The memory of one layer."""

    length: int = 0

    @abstractmethod
    def tensors(self) -> list[Tensor]:
        """All that is held."""

    @abstractmethod
    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        """Row r becomes what row `rows[r]` was: beams move, finished rows leave."""

    @property
    def nbytes(self) -> int:
        return sum(tensor.nbytes for tensor in self.tensors())


class Past(Entry):
    """Entries that grow by keys and values, position by position."""

    @abstractmethod
    def append(
        self, keys: Float[Tensor, "B G T K"], values: Float[Tensor, "B G T C"]
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S C"], Int[Tensor, "S"]]:
        """Take in new positions; give back all that is kept, in order, and where each stood."""


class KeysValues(Past):
    """Every key and value so far, in buffers that grow by doubling."""

    def __init__(self) -> None:
        self._buffers: list[Tensor] = []

    def append(
        self, keys: Float[Tensor, "B G T K"], values: Float[Tensor, "B G T C"]
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S C"], Int[Tensor, "S"]]:
        stop = self.length + keys.shape[2]
        if not self._buffers:
            self._buffers = [_room(keys, stop), _room(values, stop)]
        if stop > self._buffers[0].shape[2]:
            self._buffers = [_grown(buffer, self.length, stop) for buffer in self._buffers]
        for buffer, new in zip(self._buffers, (keys, values), strict=True):
            buffer[:, :, self.length : stop] = new
        self.length = stop
        keys, values = (buffer[:, :, :stop] for buffer in self._buffers)
        return keys, values, torch.arange(stop, device=keys.device)

    def tensors(self) -> list[Tensor]:
        return [buffer[:, :, : self.length] for buffer in self._buffers]

    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        self._buffers = [_picked(buffer, rows, self.length) for buffer in self._buffers]


class Sliding(Past):
    """The last `width` keys and values, and for ever the `first` ones.

    The buffer has room for twice the width; when it is full, its later half moves to the front.
    So what is kept stands in order, and a step costs the same at position 100 and 10,000.
    """

    def __init__(self, width: int, first: int) -> None:
        self.width, self.first = width, first
        self._recent: list[Tensor] = []
        self._fixed: list[Tensor] = []
        self._stop = 0

    def append(
        self, keys: Float[Tensor, "B G T K"], values: Float[Tensor, "B G T C"]
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S C"], Int[Tensor, "S"]]:
        new = self._keep_first([keys, values])
        if new[0].shape[2] <= 1:
            self._store(new)
            window = self._last()
        else:
            window = [torch.cat(pair, 2) for pair in zip(self._last(), new, strict=True)] if self._recent else new
            self._store(new)
        self.length += keys.shape[2]
        at = torch.arange(self.length - window[0].shape[2], self.length, device=keys.device)
        if not self._fixed:
            return window[0], window[1], at
        at = torch.cat([torch.arange(self._fixed[0].shape[2], device=keys.device), at])
        return torch.cat([self._fixed[0], window[0]], 2), torch.cat([self._fixed[1], window[1]], 2), at

    def _keep_first(self, new: list[Tensor]) -> list[Tensor]:
        """Global positions are taken off the front and kept; the others are given back."""
        count = max(0, min(self.first - self.length, new[0].shape[2]))
        if count:
            heads = [tensor[:, :, :count] for tensor in new]
            self._fixed = [torch.cat([*self._fixed[i : i + 1], head], 2) for i, head in enumerate(heads)]
        return [tensor[:, :, count:] for tensor in new]

    def _last(self) -> list[Tensor]:
        return [buffer[:, :, max(0, self._stop - self.width) : self._stop] for buffer in self._recent]

    def _store(self, new: list[Tensor]) -> None:
        new = [tensor[:, :, -self.width :] for tensor in new]
        if not self._recent:
            self._recent = [_room(tensor, 2 * self.width) for tensor in new]
        if self._stop + new[0].shape[2] > 2 * self.width:
            for buffer in self._recent:
                buffer[:, :, : self.width] = buffer[:, :, self._stop - self.width : self._stop].clone()
            self._stop = self.width
        stop = self._stop + new[0].shape[2]
        for buffer, tensor in zip(self._recent, new, strict=True):
            buffer[:, :, self._stop : stop] = tensor
        self._stop = stop

    def tensors(self) -> list[Tensor]:
        return self._recent + self._fixed

    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        self._recent = [buffer.index_select(0, rows) for buffer in self._recent]
        self._fixed = [buffer.index_select(0, rows) for buffer in self._fixed]


class Held(Entry):
    """Tensors of a fixed size, rows first: hidden states, sums, the tail of a convolution."""

    def __init__(self, *held: Tensor, length: int = 0) -> None:
        self.held, self.length = held, length

    def replace(self, *held: Tensor, steps: int) -> None:
        self.held = held
        self.length += steps

    def tensors(self) -> list[Tensor]:
        return list(self.held)

    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        self.held = tuple(tensor.index_select(0, rows) for tensor in self.held)


class Memory:
    """All entries of a decoder, by name.

    What was read of the source (`cross`, `lengths`) is held once a sentence; all else once a row.
    Rows are hypotheses: `share` neighbouring ones belong to the same sentence.
    """

    SOURCE = ("cross", "lengths")

    def __init__(self, **entries: Entry | list[Entry]) -> None:
        self.entries = {name: held if isinstance(held, list) else [held] for name, held in entries.items()}
        self.share = 1

    def __iter__(self) -> Iterator[Entry]:
        return (entry for held in self.entries.values() for entry in held)

    def __getitem__(self, name: str) -> list[Entry]:
        return self.entries.get(name, [])

    def held(self, name: str) -> list[Held]:
        return [entry for entry in self[name] if isinstance(entry, Held)]

    def source_mask(self) -> Mask:
        """What cross-attention may see of the source."""
        lengths = self.held("lengths")
        return Mask(key_lengths=lengths[0].held[0]) if lengths else Mask()

    @property
    def length(self) -> int:
        return max((entry.length for entry in self), default=0)

    @property
    def nbytes(self) -> int:
        return sum(entry.nbytes for entry in self)

    def spread(self, share: int, rows: int) -> None:
        """From one hypothesis a sentence to `share` equal ones."""
        device = next((tensor.device for entry in self for tensor in entry.tensors()), None)
        again = torch.arange(rows, device=device).repeat_interleave(share)
        for entry in self._of_rows():
            entry.reorder(again)
        self.share = share

    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        """Rows of one sentence stay neighbours; whole sentences may leave."""
        for entry in self._of_rows():
            entry.reorder(rows)
        sentences = rows[:: self.share] // self.share
        source = [entry for name in self.SOURCE for entry in self[name]]
        if source and not self._all_in_place(source, sentences):
            for entry in source:
                entry.reorder(sentences)

    def _of_rows(self) -> Iterator[Entry]:
        return (entry for name, held in self.entries.items() if name not in self.SOURCE for entry in held)

    @staticmethod
    def _all_in_place(source: list[Entry], sentences: Int[Tensor, "R"]) -> bool:
        count = len(source[0].tensors()[0])
        return len(sentences) == count and bool((sentences == torch.arange(count, device=sentences.device)).all())


def _room(like: Tensor, size: int) -> Tensor:
    return like.new_empty(*like.shape[:2], size, like.shape[3])


def _grown(buffer: Tensor, used: int, wanted: int) -> Tensor:
    larger = _room(buffer, max(wanted, 2 * buffer.shape[2]))
    larger[:, :, :used] = buffer[:, :, :used]
    return larger


def _picked(buffer: Tensor, rows: Tensor, used: int) -> Tensor:
    picked = buffer.new_empty(len(rows), *buffer.shape[1:])
    picked[:, :, :used] = buffer[:, :, :used].index_select(0, rows)
    return picked
