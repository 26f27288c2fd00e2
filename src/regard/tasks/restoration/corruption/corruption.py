"""The contract of corruptions: as with augmentations, all chance is drawn first and used afterwards."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

HELD_OUT = 3  # what chance begins with for images that are not learnt from

Drawn = dict[str, Tensor]
"""What chance says of images, by name, a row for each; it stays where it was drawn."""


class Corruption(ABC):
    """Spoils images, so that a model learns to give back what they were.

    `draw` takes all chance; `corrupt` leaves nothing to it and treats every image by itself. Pixels are between 0 and
    1, before and after.
    """

    @abstractmethod
    def draw(self, rows: int, channels: int, shape: tuple[int, int], chance: np.random.Generator) -> Drawn:
        """What chance says of so many images of a shape (rows, columns)."""

    @abstractmethod
    def corrupt(self, pixels: Float[Tensor, "B C Y X"], drawn: Drawn) -> Float[Tensor, "B C Y X"]:
        """The images, spoilt as was drawn."""

    @abstractmethod
    def manner(self) -> str:
        """How they are spoilt, in a few words."""


def drawn_for(corruption: Corruption, numbers: Iterable[int], channels: int, shape: tuple[int, int]) -> Drawn:
    """For images that are not learnt from, by their numbers: always the same, in whatever company they are."""
    each = [corruption.draw(1, channels, shape, np.random.default_rng((HELD_OUT, number))) for number in numbers]
    return {name: torch.cat([one[name] for one in each]) for name in each[0]} if each else {}
