"""An image in, an image out."""

from typing import Annotated

import torch
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import InputError
from regard.model.assembly.assembly import Assembly
from regard.model.initial import initialise
from regard.model.options import Channels, ImageSize, sides
from regard.model.vision.body import times
from regard.model.vision.unet import Skips, Unet
from regard.recipe import Count


class ImageRestorer(Assembly):
    """An image in, another of the same size out: a U-Net, to take away noise or to fill in what is missing [N0:51].

    It is made of convolutions alone, so it takes images of any size; `size` is what it is trained with.
    """

    sequence = False

    def __init__(
        self,
        *,
        channels: Channels = 3,
        size: ImageSize = 32,
        width: Annotated[Count, Doc("Channels at the full size; each next smaller one has twice as many.")] = 32,
        blocks: Annotated[Count, Doc("Residual blocks at each size, on the way down and on the way up.")] = 1,
        scales: Annotated[Count, Doc("Number of sizes; each next one is half as large.")] = 3,
        skips: Skips = "concatenate",
    ) -> None:
        super().__init__()
        self.channels, self.image_shape, self.least = channels, sides(size), 2 ** (scales - 1)
        if min(self.image_shape) < self.least:
            raise ValueError(f"scales: images of {times(*self.image_shape)} cannot be halved {scales - 1} times")
        self.body = Unet(channels, width, blocks, scales, skips)
        self.head = nn.Conv2d(self.body.out_width, channels, 1)
        initialise(self)
        nn.init.normal_(self.head.weight, std=width**-0.5)  # no ReLU follows, and few channels come out

    @property
    def reach(self) -> int:
        """What is farther from a pixel than this, in rows or columns, has no part in what becomes of it."""
        reach: int = self.body.reach
        return reach

    def example(self, rows: int, length: int) -> tuple[Tensor, ...]:
        return (torch.zeros(rows, self.channels, *self.image_shape),)

    def forward(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
        if pixels.shape[1] != self.channels or min(pixels.shape[2:]) < self.least:
            given = "×".join(map(str, pixels.shape[1:]))
            raise InputError(
                f"wanted images of {self.channels} numbers a pixel, {self.least} pixels or more a side, given {given}"
            )
        restored: Tensor = self.head(self.body(pixels.contiguous()))  # in no other order: see docs/architecture.md
        return restored
