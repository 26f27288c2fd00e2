"""An image body and a head."""

from typing import Annotated

import torch
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import InputError
from regard.model.assembly.assembly import Assembly
from regard.model.initial import initialise
from regard.model.options import Channels, ImageSize, sides
from regard.model.vision import ImageBody
from regard.recipe import Count, Part, choose


class ImageClassifier(Assembly):
    """One vector per image, and a class from it [N0:155-189]."""

    sequence = False

    def __init__(
        self,
        *,
        classes: Annotated[Count, Doc("Number of classes to tell apart.")] = 10,
        channels: Channels = 3,
        size: ImageSize = 224,
        body: Part[ImageBody] = choose("patches"),
    ) -> None:
        super().__init__()
        self.channels, self.image_shape = channels, sides(size)
        self.body = body.build(channels, self.image_shape)
        self.head = nn.Linear(self.body.out_width, classes)
        initialise(self)

    def example(self, rows: int, length: int) -> tuple[Tensor, ...]:
        return (torch.zeros(rows, self.channels, *self.image_shape),)

    def forward(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B V"]:
        wanted = (self.channels, *self.image_shape)
        if pixels.shape[1:] != wanted:
            asked, given = ("×".join(map(str, shape)) for shape in (wanted, pixels.shape[1:]))
            raise InputError(f"wanted images of {asked} numbers, given {given}")
        logits: Tensor = self.head(self.body(pixels.contiguous()))  # in no other order: see docs/architecture.md
        return logits
