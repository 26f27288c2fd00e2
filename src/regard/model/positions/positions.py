"""The contract of positions."""

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar, Literal

from jaxtyping import Float, Int
from torch import Tensor, nn


@dataclass(frozen=True)
class Where:
    """Where the tokens at hand stand: from start to stop, or, packed, `within` their segments."""

    start: int
    stop: int
    within: Int[Tensor, "B T"] | None = None

    def pick(self, table: Tensor) -> Tensor:
        """The rows of a table for these positions: [T …], or [B T …] when packed."""
        return table[self.start : self.stop] if self.within is None else table[self.within]


class Positions(nn.Module, ABC):
    """A scheme speaks at one of three moments, and passes everything through at the others."""

    moment: ClassVar[Literal["never", "embed", "rotate", "bias"]]

    def embed(self, x: Float[Tensor, "B T D"], where: Where) -> Float[Tensor, "B T D"]:
        """Before the first layer."""
        return x

    def rotate(self, x: Float[Tensor, "B H T K"], where: Where) -> Float[Tensor, "B H T K"]:
        """On queries and keys."""
        return x

    def slopes(self, heads: int) -> Float[Tensor, "H"] | None:
        """On scores: each head takes away its slope for every step of distance."""
        return None


@dataclass(frozen=True)
class Places:
    """A scheme, and where the tokens at hand stand."""

    scheme: Positions
    where: Where

    def embed(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return self.scheme.embed(x, self.where)

    def rotate(self, x: Float[Tensor, "B H T K"]) -> Float[Tensor, "B H T K"]:
        return self.scheme.rotate(x, self.where)

    def slopes(self, heads: int) -> Float[Tensor, "H"] | None:
        return self.scheme.slopes(heads)
