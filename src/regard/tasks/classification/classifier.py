"""From an image to its class: any number of images, of any size, each with the likeliest classes and their p."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, UInt8
from numpy.typing import NDArray
from torch import Tensor

from regard.datasets.images.pixels import fitted
from regard.errors import NoNumbersError
from regard.looking.images import Look, looked
from regard.markup import Answer
from regard.model.assembly import ImageClassifier
from regard.model.mode import evaluating
from regard.tasks.classification.facts import Facts

PIXELS = 2**21  # numbers of the images that are classified at once
TOGETHER = 256  # images, however small


@dataclass(frozen=True)
class Classified(Answer):
    """An image by its name, and its likeliest classes, the likeliest first."""

    heads = ("image", "class", " probability")

    name: str
    labels: list[str]
    probabilities: list[float]

    @property
    def label(self) -> str:
        """The likeliest."""
        return self.labels[0]

    @property
    def probability(self) -> float:
        """Of the likeliest."""
        return self.probabilities[0]

    def rows(self) -> list[tuple[str, ...]]:
        """A row for each class."""
        pairs = zip(self.labels, self.probabilities, strict=True)
        return [("" if place else self.name, label, f"{100 * p:.1f} %") for place, (label, p) in enumerate(pairs)]


@dataclass(frozen=True)
class Classifier:
    """A trained model and what it knows of its images, ready to classify others."""

    model: ImageClassifier
    facts: Facts

    @property
    def together(self) -> int:
        """Images that are classified at once."""
        rows, columns = self.facts.shape
        return max(1, min(TOGETHER, PIXELS // (self.facts.channels * rows * columns)))

    def fitted(self, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """An image (rows, columns, channels) made ready exactly as those it learnt from: channels, rows, columns."""
        return fitted(pixels, self.facts.shape, self.facts.channels, self.facts.fit)

    def classify(
        self, images: Sequence[NDArray[np.uint8]], names: Sequence[str] = (), top: int = 5
    ) -> list[Classified]:
        """Images (rows, columns, channels) as bytes, each with its `top` likeliest classes."""
        named = names or [f"image {number}" for number in range(1, len(images) + 1)]
        found: list[Classified] = []
        for start in range(0, len(images), self.together):
            ready = np.stack([self.fitted(image) for image in images[start : start + self.together]])
            chances = self.log_probabilities(torch.from_numpy(ready)).exp()
            best = chances.topk(min(top, chances.shape[1]), 1)
            for name, values, places in zip(named[start:], best.values.tolist(), best.indices.tolist(), strict=False):
                found.append(Classified(name, [self.facts.classes[place] for place in places], values))
        return found

    @torch.inference_mode()
    def log_probabilities(self, images: UInt8[Tensor, "B C Y X"]) -> Float[Tensor, "B V"]:
        """log p of every class for images that are made ready."""
        device = next(self.model.parameters()).device
        with evaluating(self.model):
            found: Tensor = self.model(self.facts.normalised(images.to(device))).float()
        if not bool(found.isfinite().all()):
            raise NoNumbersError("the model's scores are no numbers any more, so no class can be chosen by them")
        return found.log_softmax(1).cpu()

    def look(self, image: NDArray[np.uint8]) -> Look:
        """Where it looks in an image (rows, columns, channels)."""
        device = next(self.model.parameters()).device
        ready = torch.from_numpy(np.array(self.fitted(image)))
        shown = self.facts.arranged(ready).permute(1, 2, 0)
        with evaluating(self.model):
            pixels = self.facts.normalised(ready[None].to(device))
            return looked(self.model, pixels, np.ascontiguousarray(shown.numpy()))
