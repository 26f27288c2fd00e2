"""The contract of stacks: encoders read a whole sequence, decoders write one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.mask import Mask
from regard.model.memory import Memory
from regard.model.positions import Grid

State = tuple[Tensor, ...]


@dataclass(frozen=True)
class Encoded:
    """What an encoder hands over: a vector per position, and for recurrent ones the final states."""

    states: Float[Tensor, "B S E"]
    lengths: Int[Tensor, "B"] | None = None
    final: tuple[State, ...] = ()

    def mask(self) -> Mask:
        """Cross-attention sees all of the source but its padding."""
        return Mask(key_lengths=self.lengths)

    def summary(self) -> Float[Tensor, "B E"]:
        """One fixed-size vector: the last state of the top layer, or else the mean."""
        if self.final:
            return self.final[-1][0]
        if self.lengths is None:
            return self.states.mean(1)
        return self.states.sum(1) / self.lengths.clamp(min=1)[:, None]


@dataclass(frozen=True)
class Source:
    """What a decoder is told of its encoder when it is built: `final` counts the states per layer."""

    width: int
    final: tuple[int, ...] = ()


@dataclass(frozen=True)
class DecoderSite:
    """Where a decoder is built in: its width, and what it reads, if anything."""

    width: int
    source: Source | None = None


class Encoder(nn.Module, ABC):
    """Reads a whole sequence. Padding comes out as zeros."""

    final: tuple[int, ...] = ()
    looks_ahead = True
    limit: int | None = None
    """So many positions can be read at most, or any number."""

    @abstractmethod
    def forward(self, x: Float[Tensor, "B S D"], mask: Mask) -> Encoded:
        """A vector for every position, that knows of the others."""

    def lay_out(self, grid: Grid, read: int | None = None) -> None:
        """What it reads are patches of an image. Of what it gives only the first are `read`, if that is said.

        Whoever has no positions need not know of the grid, and whoever cannot save anything gives all.
        """


def blank(x: Float[Tensor, "B S D"], lengths: Int[Tensor, "B"] | None) -> Float[Tensor, "B S D"]:
    """Zeros past each row's length."""
    if lengths is None:
        return x
    padding = torch.arange(x.shape[1], device=x.device) >= lengths[:, None]
    return x.masked_fill(padding[..., None], 0.0)


class Decoder(nn.Module, ABC):
    """Writes a sequence from left to right; with a memory, a few steps at a time."""

    out_width: int
    limit: int | None = None
    """So many positions can be taken in at most, or any number."""

    @abstractmethod
    def start(self, encoded: Encoded | None, rows: int) -> Memory:
        """The memory of so many rows before their first step."""

    @abstractmethod
    def forward(
        self, x: Float[Tensor, "B T D"], encoded: Encoded | None, mask: Mask, memory: Memory | None = None
    ) -> Float[Tensor, "B T O"]:
        """All positions at once, or, with a memory, those that follow what it holds."""
