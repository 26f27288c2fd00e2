"""Noise: every pixel is somewhat lighter or darker than it was."""

from typing import Annotated

import numpy as np
import torch
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor

from regard.recipe import Positive, Share
from regard.tasks.restoration.corruption.corruption import Corruption, Drawn


class Noise(Corruption):
    """Gaussian noise on every colour of every pixel: x + strength · ε, never below black or above white."""

    def __init__(
        self,
        *,
        strength: Annotated[Positive, Doc("Spread of the noise, black to white being 1.")] = 0.3,
        varies: Annotated[
            Share, Doc("Share of the strength that an image may be spared, each by chance; 0 is the same for all.")
        ] = 0.0,
    ) -> None:
        self.strength, self.varies = strength, varies

    def draw(self, rows: int, channels: int, shape: tuple[int, int], chance: np.random.Generator) -> Drawn:
        spread = self.strength * (1 - self.varies * chance.random((rows, 1, 1, 1)))
        noise = chance.standard_normal((rows, channels, *shape), dtype=np.float32)
        return {"noise": torch.from_numpy(noise * spread.astype(np.float32))}

    def corrupt(self, pixels: Float[Tensor, "B C Y X"], drawn: Drawn) -> Float[Tensor, "B C Y X"]:
        return (pixels + drawn["noise"].to(pixels)).clamp(0, 1)

    def manner(self) -> str:
        return f"noise of {self.strength:g}"
