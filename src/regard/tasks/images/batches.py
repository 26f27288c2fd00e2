"""Batches of images: bytes on their way, and all that chance says of them."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from numpy.typing import NDArray
from torch import Tensor

from regard.datasets.images.pixels import Pixels
from regard.datasets.rows import Numbers
from regard.tasks.images.augmentation import Augmentation, Draws

ORDER, CHANCE = 0, 1  # what random numbers are drawn for


@dataclass(frozen=True)
class ImageBatch:
    """Images as bytes and the numbers of their classes. The first `rows` are learnt from; what stands behind them is
    only mixed into those. Without draws they are as they are."""

    images: UInt8[Tensor, "N C Y X"]
    labels: Int[Tensor, "N"]
    rows: int
    draws: Draws | None = None

    @property
    def size(self) -> int:
        """All images that are learnt from."""
        return self.rows

    @property
    def predictions(self) -> int:
        """One for every image."""
        return self.rows

    def to(self, device: torch.device) -> "ImageBatch":
        images, labels = (tensor.to(device, non_blocking=True) for tensor in (self.images, self.labels))
        return replace(self, images=images, labels=labels)

    def part(self, number: int, of: int) -> "ImageBatch":
        """Every `of`-th row, with those that are mixed into them."""
        own = torch.arange(number, self.rows, of)
        partner = None if self.draws is None else self.draws.partner
        chosen = own if partner is None else torch.cat([own, partner[own]])
        behind = None if partner is None else torch.arange(len(own), len(chosen))
        draws = None if self.draws is None else Draws(self.draws.rows(chosen), behind)
        return ImageBatch(self.images[chosen], self.labels[chosen], len(own), draws)


@torch.no_grad()
def varied(
    batch: ImageBatch, augmentation: Augmentation | None
) -> tuple[Float[Tensor, "B C Y X"], Float[Tensor, "B"] | None]:
    """The images to learn from, between 0 and 1, and how much of each is its own where they are mixed.

    Without an augmentation they are as they are. Pixels have a precision of their own, whatever a model computes in.
    """
    if batch.draws is None or augmentation is None:
        return batch.images[: batch.rows].float() / 255, None
    with torch.autocast(batch.images.device.type, enabled=False):
        pixels = augmentation.vary(batch.images.float() / 255, batch.draws.each)
        own, partner = pixels[: batch.rows], batch.draws.partner
        if partner is None:
            return own, None
        drawn = {name: drawn[: batch.rows] for name, drawn in batch.draws.each.items()}
        return augmentation.mix(own, pixels[partner.to(pixels.device)], drawn)


def image_batch(pixels: Pixels, rows: Numbers, draws: Draws | None = None) -> ImageBatch:
    """Some images of a split, in an order of one's own."""
    images = torch.from_numpy(np.ascontiguousarray(pixels.images[rows]))
    return ImageBatch(images, torch.from_numpy(pixels.labels[rows]), len(rows), draws)


class ImageBatches:
    """All images in a new order every epoch; `balanced` gives every class its equal share of them.

    Which images a step sees, and what becomes of them, is a function of (seed, step) alone.
    """

    def __init__(
        self, pixels: Pixels, size: int, seed: int, augmentation: Augmentation, balanced: bool = False
    ) -> None:
        self.pixels, self.seed, self.augmentation = pixels, seed, augmentation
        self.rows = min(size, len(pixels))
        height, width = pixels.images.shape[2:]
        self.shape = (height, width)
        self._groups = _groups(pixels.labels) if balanced else None
        self._epoch = lru_cache(2)(self._shuffled)

    def __len__(self) -> int:
        """Batches in an epoch; the few images that make no whole batch are left to another one."""
        return len(self.pixels) // self.rows

    def __getitem__(self, step: int) -> ImageBatch:
        epoch, number = divmod(step, len(self))
        rows = self._epoch(epoch)[number * self.rows : (number + 1) * self.rows]
        draws = self.augmentation.draw(self.rows, self.shape, np.random.default_rng((self.seed, CHANCE, step)))
        return image_batch(self.pixels, rows, draws)

    def _shuffled(self, epoch: int) -> Numbers:
        chance = np.random.default_rng((self.seed, ORDER, epoch))
        if self._groups is None:
            return chance.permutation(len(self.pixels))
        each = -(-len(self.pixels) // len(self._groups))
        rows = [_repeated(chance.permutation(group), each) for group in self._groups]
        return chance.permutation(np.concatenate(rows))[: len(self.pixels)]


def _groups(labels: Numbers) -> list[NDArray[np.int64]]:
    """The rows of each class that has any."""
    order = np.argsort(labels, kind="stable")
    return [group for group in np.split(order, np.cumsum(np.bincount(labels))[:-1]) if len(group)]


def _repeated(rows: Numbers, count: int) -> Numbers:
    """So many of them: all of them as often as that goes, and then some of them once more."""
    return np.resize(rows, count)
