"""The memory of one layer, of whatever kind."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch._guards import active_fake_mode

from regard.model.positions import Where


class Entry(ABC):
    """The memory of one layer."""

    @abstractmethod
    def tensors(self) -> list[Tensor]:
        """All that is held."""

    @abstractmethod
    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        """Row r becomes what row `rows[r]` was: beams move, finished rows leave."""

    @abstractmethod
    def join(self, others: "Sequence[Entry]") -> None:
        """Take in the rows of other memories of the same layer, behind those that are here."""

    def spread(self, again: Int[Tensor, "R"], share: int, begin: Int[Tensor, "B"] | None) -> "Entry":
        """The same for `share` hypotheses in place of each row; rows began at the columns `begin`."""
        self.reorder(again)
        return self

    @property
    def roomy(self) -> bool:
        """Whether it can be spread before anything was taken in: it has room, and knows of what shape."""
        return False

    def trim(self, columns: int) -> None:
        """Forget the first columns: no row that is left had begun then."""
        return

    def mark(self, ahead: int) -> Any:
        """How it is now, to come `back` to when no more than `ahead` positions have followed: a copy, if need be."""
        return deepcopy(self.__dict__)

    def back(self, mark: Any, kept: int) -> bool:
        """Drop all that followed a mark but its first `kept` positions; False: those too, and it is at the mark."""
        self.__dict__ = deepcopy(mark)
        return not kept

    @property
    def nbytes(self) -> int:
        return sum(tensor.nbytes for tensor in self.tensors())


class Claim(NamedTuple):
    """Room for a few more positions of every row, to be written by whoever asked: keys and values from column `own` on.

    A row at position p sees the last `width` columns, its own among them, or all from own - p on, where it began later.
    What was kept `apart` are the first positions: it sees those that have left the columns, and writes its own there,
    too. Where `share` hypotheses have a column each, the first at `own`, `seen` marks the columns of each, `at` says
    where all stand.
    """

    keys: Float[Tensor, "B G Z K"]
    values: Float[Tensor, "B G Z K"]
    own: int
    width: int | None = None
    apart: tuple[Float[Tensor, "B G F K"], Float[Tensor, "B G F K"]] | None = None
    share: int = 1
    seen: Bool[Tensor, "B 1 k S"] | None = None
    at: Int[Tensor, "*B S"] | None = None


class Past(Entry):
    """Entries that grow by keys and values, position by position."""

    length: int = 0

    def make_room(self, shape: tuple[int, int, int]) -> None:
        """Where nothing is held: empty buffers for so many rows, heads and numbers a head, to be claimed."""
        return

    def claim(self, where: Where) -> Claim | None:
        """Take in positions that will be written where it is said; None: only `append` can do that now."""
        return None

    def ahead(self, where: Where) -> Claim | None:
        """Take in positions of hypotheses that will part on the way; whoever asked marks what is `seen`, and says in
        the end how many were `taken`. None: only single steps can be taken."""
        return None

    def taken(self, seen: Bool[Tensor, "B 1 k S"] | None, less: int) -> None:
        """Of what was claimed `ahead` so many positions were not written; where hypotheses part, these columns of the
        others are seen."""
        raise NotImplementedError

    @abstractmethod
    def append(
        self, keys: Float[Tensor, "B G T K"], values: Float[Tensor, "B G T C"], where: Where
    ) -> tuple[Float[Tensor, "b G S K"], Float[Tensor, "b G S C"], Int[Tensor, "*b S"]]:
        """Take in new positions; give back all that is kept, the new ones last, and where each stood.

        Rows that began together share one list of positions. Others have one each, and a negative
        position says that this row has no such key.
        """


class Held(Entry):
    """Tensors of a fixed size, rows first: hidden states, sums, the tail of a convolution."""

    def __init__(self, *held: Tensor) -> None:
        self.held = held

    def replace(self, *held: Tensor) -> None:
        self.held = held

    def tensors(self) -> list[Tensor]:
        return list(self.held)

    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        self.held = tuple(tensor.index_select(0, rows) for tensor in self.held)

    def join(self, others: Sequence[Entry]) -> None:
        """Where sizes differ, as sources do, the smaller is filled up with zeros."""
        parts = [self.tensors(), *(other.tensors() for other in others)]
        self.held = tuple(_stacked(tensors) for tensors in zip(*parts, strict=True))

    def narrow(self, longest: int) -> None:
        """No source that is left has more positions than this."""
        return

    def mark(self, ahead: int) -> Any:
        return self.held  # never written into, only replaced

    def back(self, mark: Any, kept: int) -> bool:
        self.held = mark
        return not kept


class SourceKeysValues(Held):
    """Keys and values of a source, as cross-attention reads them at every step."""

    def narrow(self, longest: int) -> None:
        self.held = tuple(tensor[:, :, :longest] for tensor in self.held)


_COLUMNS: dict[torch.device, Tensor] = {}


def columns(start: int, stop: int, device: torch.device) -> Int[Tensor, "S"]:
    """The numbers from start to before stop, out of one table for all layers and steps; it grows by doubling."""
    if active_fake_mode() is not None:  # what a pretended tensor is must not be met again by real ones, nor they by it
        return torch.arange(start, stop, device=device)
    table = _COLUMNS.get(device)
    if table is None or stop > len(table):
        with torch.inference_mode(False):  # or a table first made in use could not be trained with
            table = torch.arange(max(stop, 1024 if table is None else 2 * len(table)), device=device)
        _COLUMNS[device] = table  # another thread may put a shorter one here: this one is handed on
    return table[start:stop]


def padded(x: Float[Tensor, "B G S K"], before: int, after: int = 0) -> Float[Tensor, "B G Z K"]:
    """Zeros before and after what is held: never what the storage happens to hold, for 0 · NaN is NaN."""
    return F.pad(x, (0, 0, before, after)) if before or after else x


def room(like: Tensor, size: int) -> Tensor:
    """A buffer for so many positions, of the same kind as another."""
    return like.new_empty(*like.shape[:2], size, like.shape[3])


def grown(buffer: Tensor, used: int, wanted: int) -> Tensor:
    """The same with room for twice as much, or what is needed."""
    larger = room(buffer, max(wanted, 2 * buffer.shape[2]))
    larger[:, :, :used] = buffer[:, :, :used]
    return larger


def picked(buffer: Tensor, rows: Tensor, used: int) -> Tensor:
    """Chosen rows, as far as they are used."""
    picked = buffer.new_empty(len(rows), *buffer.shape[1:])
    picked[:, :, :used] = buffer[:, :, :used].index_select(0, rows)
    return picked


def beside(parts: Sequence[Tensor]) -> Tensor:
    """Rows under each other, aligned at the last column, with room for as many columns again."""
    used = max(part.shape[2] for part in parts)
    made = parts[0].new_empty(sum(map(len, parts)), parts[0].shape[1], used + max(8, used // 2), parts[0].shape[3])
    start = 0
    for part in parts:
        stop = start + len(part)
        made[start:stop, :, : used - part.shape[2]] = 0.0
        made[start:stop, :, used - part.shape[2] : used] = part
        start = stop
    return made


def _stacked(tensors: Sequence[Tensor]) -> Tensor:
    """Rows under each other, aligned at the first position of every other dimension."""
    sizes = [max(each) for each in zip(*(tensor.shape[1:] for tensor in tensors), strict=True)]
    if all(list(tensor.shape[1:]) == sizes for tensor in tensors):
        return torch.cat(list(tensors))
    made = tensors[0].new_zeros(sum(map(len, tensors)), *sizes)
    start = 0
    for tensor in tensors:
        place = (slice(start, start + len(tensor)), *(slice(size) for size in tensor.shape[1:]))
        made[place] = tensor
        start += len(tensor)
    return made
