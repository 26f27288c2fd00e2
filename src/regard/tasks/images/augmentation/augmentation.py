"""The contract of augmentations: all chance is drawn first, for the rows of a whole batch, and used afterwards."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Draws:
    """What chance says of every image of a batch, by name, a row for each; and, where images are mixed, the row of the
    one that each is mixed with. It stays where it was drawn: a few numbers an image."""

    each: Mapping[str, Tensor]
    partner: Int[Tensor, "B"] | None = None

    def rows(self, chosen: Int[Tensor, "R"]) -> dict[str, Tensor]:
        """Those of some rows."""
        return {name: drawn[chosen] for name, drawn in self.each.items()}


class Augmentation(ABC):
    """Varies the images of a batch, so that no epoch sees one of them twice the same.

    `draw` takes all chance, for all images of a step; `vary` and `mix` leave nothing to chance and treat every image
    by itself. So a run that was cut short goes on as it would have, and processes that share a batch do what one does.
    """

    @abstractmethod
    def draw(self, rows: int, shape: tuple[int, int], chance: np.random.Generator) -> Draws:
        """What chance says of so many images of a shape (rows, columns)."""

    @abstractmethod
    def vary(self, pixels: Float[Tensor, "B C Y X"], drawn: Mapping[str, Tensor]) -> Float[Tensor, "B C Y X"]:
        """Each image by itself; pixels are between 0 and 1, before and after."""

    def mix(
        self, pixels: Float[Tensor, "B C Y X"], others: Float[Tensor, "B C Y X"], drawn: Mapping[str, Tensor]
    ) -> tuple[Float[Tensor, "B C Y X"], Float[Tensor, "B"]]:
        """Each image with another one, and the share that is left of it; most mix nothing."""
        return pixels, pixels.new_ones(len(pixels))
