"""An image body and a head."""

from typing import Annotated

import torch
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import InputError
from regard.model.assembly.assembly import Assembly
from regard.model.initial import initialise
from regard.model.vision import ImageBody
from regard.recipe import Count, Part, choose


class ImageClassifier(Assembly):
    """One vector per image, and a class from it [N0:155-189]."""

    sequence = False

    def __init__(
        self,
        *,
        classes: Annotated[Count, Doc("Number of classes to tell apart.")] = 10,
        channels: Annotated[Count, Doc("Numbers a pixel has: 3 for colour, 1 for grey.")] = 3,
        size: Annotated[Count, Doc("Side of the square images in pixels.")] = 224,
        body: Part[ImageBody] = choose("patches"),
    ) -> None:
        super().__init__()
        self.channels, self.size = channels, size
        self.body = body.build(channels, size)
        self.head = nn.Linear(self.body.out_width, classes)
        initialise(self)

    def example(self, rows: int, length: int) -> tuple[Tensor, ...]:
        return (torch.zeros(rows, self.channels, self.size, self.size),)

    def forward(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B V"]:
        if pixels.shape[1:] != (self.channels, self.size, self.size):
            given = "×".join(map(str, pixels.shape[1:]))
            raise InputError(f"wanted images of {self.channels}×{self.size}×{self.size} numbers, given {given}")
        logits: Tensor = self.head(self.body(pixels))
        return logits
