"""Batches of images, each with what chance says of how it is spoilt."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from regard.tasks.images.batches import ImageBatch, ImageBatches
from regard.tasks.restoration.corruption import Corruption, Drawn

CORRUPTED = 2  # what random numbers are drawn for, beside those of all batches of images


@dataclass(frozen=True)
class CorruptedBatch:
    """Images as they should be, and how those that are learnt from will be spoilt."""

    clean: ImageBatch
    drawn: Drawn

    @property
    def size(self) -> int:
        """All images that are learnt from."""
        return self.clean.rows

    @property
    def predictions(self) -> int:
        """One for every image."""
        return self.clean.rows

    def to(self, device: torch.device) -> "CorruptedBatch":
        return replace(self, clean=self.clean.to(device))

    def part(self, number: int, of: int) -> "CorruptedBatch":
        """Every `of`-th row."""
        rows = {name: drawn[number::of] for name, drawn in self.drawn.items()}
        return CorruptedBatch(self.clean.part(number, of), rows)


class CorruptedBatches:
    """Batches of images, spoilt anew in every epoch: a function of (seed, step) alone."""

    def __init__(self, clean: ImageBatches, corruption: Corruption) -> None:
        self.clean, self.corruption = clean, corruption
        self.channels = clean.pixels.images.shape[1]

    def __len__(self) -> int:
        return len(self.clean)

    def __getitem__(self, step: int) -> CorruptedBatch:
        clean = self.clean[step]
        chance = np.random.default_rng((self.clean.seed, CORRUPTED, step))
        return CorruptedBatch(clean, self.corruption.draw(clean.rows, self.channels, self.clean.shape, chance))
