"""The contract of positions."""

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar, Literal

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.positions.grid import Grid


@dataclass(frozen=True)
class Where:
    """Where the tokens at hand stand: from start to stop, or each row on its own, `within` it or its segments."""

    start: int
    stop: int
    within: Int[Tensor, "B T"] | None = None

    @property
    def count(self) -> int:
        """How many there are of each row."""
        return self.stop - self.start

    def pick(self, table: Tensor) -> Tensor:
        """The rows of a table for these positions: [T …], or [B T …] where rows differ."""
        return table[self.start : self.stop] if self.within is None else table[self.within]

    def front(self, count: int) -> "Where":
        """The first of these positions."""
        return Where(self.start, self.start + count, None if self.within is None else self.within[:, :count])

    def step(self, number: int) -> "Where":
        """One of these positions alone."""
        within = None if self.within is None else self.within[:, number : number + 1]
        return Where(self.start + number, self.start + number + 1, within)


Moment = Literal["never", "embed", "rotate", "bias"]
NAMES: dict[Moment, str] = {"never": "none", "embed": "sinusoidal, learned", "rotate": "rotary", "bias": "alibi"}
DEEDS: dict[Moment, str] = {
    "rotate": "rotary positions turn a dot product",
    "bias": "alibi positions slant attention scores",
}


class Positions(nn.Module, ABC):
    """A scheme speaks at one of three moments, and passes everything through at the others."""

    moment: ClassVar[Moment]
    limit: int | None = None
    """So many positions are known, or any number."""
    grid: Grid | None = None
    """The rows and columns that tokens stand in, if they do not stand one after the other."""

    def lay_out(self, grid: Grid) -> None:
        """Tokens stand in rows and columns from now on; whoever tells places apart tells both."""
        self.grid = grid

    def check(self, hears: tuple[Moment, ...], listener: str) -> None:
        """Refuse to be built in where it would not be heard: silence and embeddings always are."""
        heard: tuple[Moment, ...] = ("never", "embed", *hears)
        if self.moment not in heard:
            *others, last = ", ".join(NAMES[moment] for moment in heard).split(", ")
            raise ValueError(
                f"{DEEDS[self.moment]}, which {listener} does not have; choose {', '.join(others)} or {last}"
            )

    def check_head(self, width: int) -> None:
        """Refuse heads of a width that it cannot work on."""

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

    def front(self, count: int) -> "Places":
        """Of the first tokens alone."""
        return Places(self.scheme, self.where.front(count))

    def embed(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return self.scheme.embed(x, self.where)

    def rotate(self, x: Float[Tensor, "B H T K"]) -> Float[Tensor, "B H T K"]:
        return self.scheme.rotate(x, self.where)

    def slopes(self, heads: int) -> Float[Tensor, "H"] | None:
        return self.scheme.slopes(heads)
