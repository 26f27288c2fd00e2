"""The contract of image bodies."""

from abc import ABC, abstractmethod

from jaxtyping import Float
from torch import Tensor

from regard.model.mechanism import Mechanism


class ImageBody(Mechanism, ABC):
    """Turns an image into one vector."""

    out_width: int

    @abstractmethod
    def forward(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B O"]:
        """One vector an image."""
