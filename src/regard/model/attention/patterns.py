"""Patterns: who sees whom, whatever the batch. A decoder adds that nobody sees the future."""

from abc import ABC, abstractmethod
from typing import Annotated

from annotated_doc import Doc

from regard.model.mask import Mask
from regard.recipe import Count

WindowWidth = Annotated[Count, Doc("Positions to each side that are seen, the position itself counted among them.")]


class Pattern(ABC):
    """A mask that holds for every batch."""

    @abstractmethod
    def mask(self) -> Mask:
        """Who sees whom."""


class Full(Pattern):
    """Every position sees every other [N3:100]; in a decoder, every one before it."""

    def mask(self) -> Mask:
        return Mask()


class Causal(Pattern):
    """Every position sees itself and those before it [N2:697-723]."""

    def mask(self) -> Mask:
        return Mask(causal=True)


class Window(Pattern):
    """Every position sees those less than `width` away, at a cost of O(n·w) [N0:118-125]."""

    def __init__(self, *, width: WindowWidth = 256) -> None:
        self.width = width

    def mask(self) -> Mask:
        return Mask(window=self.width)


class LocalGlobal(Pattern):
    """A window, and a few first positions that see all and are seen by all [N0:102, N1:99].

    Longformer, Beltagy et al. 2020.
    """

    def __init__(
        self,
        *,
        width: WindowWidth = 256,
        first: Annotated[Count, Doc("Number of first positions that see all others and are seen by all.")] = 16,
    ) -> None:
        self.width, self.first = width, first

    def mask(self) -> Mask:
        return Mask(window=self.width, first=self.first)
