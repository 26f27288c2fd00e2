"""The memory of one layer, of whatever kind."""

from abc import ABC, abstractmethod

from jaxtyping import Float, Int
from torch import Tensor


class Entry(ABC):
    """The memory of one layer."""

    length: int = 0

    @abstractmethod
    def tensors(self) -> list[Tensor]:
        """All that is held."""

    @abstractmethod
    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        """Row r becomes what row `rows[r]` was: beams move, finished rows leave."""

    def spread(self, again: Int[Tensor, "R"], share: int) -> "Entry":
        """The same for `share` hypotheses in place of each row."""
        self.reorder(again)
        return self

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


def room(like: Tensor, size: int) -> Tensor:
    return like.new_empty(*like.shape[:2], size, like.shape[3])


def grown(buffer: Tensor, used: int, wanted: int) -> Tensor:
    larger = room(buffer, max(wanted, 2 * buffer.shape[2]))
    larger[:, :, :used] = buffer[:, :, :used]
    return larger


def picked(buffer: Tensor, rows: Tensor, used: int) -> Tensor:
    picked = buffer.new_empty(len(rows), *buffer.shape[1:])
    picked[:, :, :used] = buffer[:, :, :used].index_select(0, rows)
    return picked
