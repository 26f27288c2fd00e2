"""The contract of image bodies."""

from abc import ABC, abstractmethod

from jaxtyping import Float
from torch import Tensor

from regard.model.mechanism import Mechanism

Shape = tuple[int, int]
"""Rows and columns of pixels."""


class ImageBody(Mechanism, ABC):
    """Turns an image into one vector. It is built for so many channels, and images of one shape."""

    out_width: int

    @abstractmethod
    def forward(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B O"]:
        """One vector an image."""


def times(*numbers: int) -> str:
    """24×48, or 32 where all are the same."""
    return str(numbers[0]) if len({*numbers}) == 1 else "×".join(map(str, numbers))
