"""The contract of image bodies."""

from abc import ABC, abstractmethod

from jaxtyping import Float
from torch import Tensor, nn


class ImageBody(nn.Module, ABC):
    """Turns an image into one vector."""

    out_width: int

    @abstractmethod
    def forward(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B O"]: ...
