"""How training images are varied: batched operations, whose chance is a function of seed and step."""

from regard.tasks.images.augmentation.augmentation import Augmentation, Draws
from regard.tasks.images.augmentation.random import Random

__all__ = ["Augmentation", "Draws", "Random"]
