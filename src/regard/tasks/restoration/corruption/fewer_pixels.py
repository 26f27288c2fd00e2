"""Fewer pixels: what is finer than one of them is lost."""

from typing import Annotated

import numpy as np
import torch.nn.functional as F
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor

from regard.recipe import Count
from regard.tasks.restoration.corruption.corruption import Corruption, Drawn

MOST = 64


class FewerPixels(Corruption):
    """As if the image had been made smaller and, smoothly, large again: what is fine is to be sharpened."""

    def __init__(
        self, *, factor: Annotated[Count, Doc("Rows, and columns, of which only one is left: 2 keeps a quarter.")] = 2
    ) -> None:
        if factor > MOST:
            raise ValueError(f"factor: at most {MOST}")
        self.factor = factor

    def draw(self, rows: int, channels: int, shape: tuple[int, int], chance: np.random.Generator) -> Drawn:
        return {}

    def corrupt(self, pixels: Float[Tensor, "B C Y X"], drawn: Drawn) -> Float[Tensor, "B C Y X"]:
        height, width = pixels.shape[2:]
        few = [max(1, side // self.factor) for side in (height, width)]
        small = F.interpolate(pixels, few, mode="area")
        return F.interpolate(small, (height, width), mode="bilinear", align_corners=False)

    def manner(self) -> str:
        return f"1 of {self.factor} rows and columns"
