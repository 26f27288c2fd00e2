"""Missing squares: what stood there must be guessed from what is around it."""

from typing import Annotated

import numpy as np
import torch
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor

from regard.recipe import Count, Positive
from regard.tasks.images.augmentation.boxes import boxes, inside
from regard.tasks.restoration.corruption.corruption import Corruption, Drawn

GREY = 0.5
MOST = 64  # squares


class Squares(Corruption):
    """Squares anywhere in the image are grey: what stood there is to be filled in."""

    def __init__(
        self,
        *,
        count: Annotated[Count, Doc("Number of squares in every image; they may overlap.")] = 2,
        side: Annotated[Positive, Doc("Side of a square, as a share of the image's smaller side.")] = 0.25,
    ) -> None:
        if count > MOST:
            raise ValueError(f"count: at most {MOST} squares")
        if side > 1:
            raise ValueError("side: a share of the image's side, at most 1")
        self.count, self.side = count, side

    def draw(self, rows: int, channels: int, shape: tuple[int, int], chance: np.random.Generator) -> Drawn:
        share = np.full(self.count * rows, (self.side * min(shape)) ** 2 / (shape[0] * shape[1]))
        found = boxes(share, shape, chance, shape[0] / shape[1])  # squares, whatever the shape of the image
        return {"squares": found.view(rows, self.count, 4)}

    def corrupt(self, pixels: Float[Tensor, "B C Y X"], drawn: Drawn) -> Float[Tensor, "B C Y X"]:
        height, width = pixels.shape[2:]
        for squares in drawn["squares"].to(pixels.device).unbind(1):
            pixels = torch.where(inside(squares, (height, width)), GREY, pixels)
        return pixels

    def manner(self) -> str:
        return f"{self.count} missing {'square' if self.count == 1 else 'squares'}"
