"""What a run keeps of the images it learnt from: their classes, and how pixels are made ready for the model."""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.datasets.images.fit import Fit
from regard.disk import parse_json
from regard.errors import InputError
from regard.tasks.images.facts import ImageFacts, are_numbers, pixelwise
from regard.tasks.task import Kept

FILE = "classification.json"
MOST = 2**16  # classes
LONGEST = 1_000  # letters of the name of a class
ORDERS = 2**31  # of pixels, that a number may name


@dataclass(frozen=True)
class Facts(ImageFacts):
    """Names of classes in the order of the logits, what there is to know of pixels, the training images of each class,
    and the number of the order that pixels are shuffled into, if they are."""

    classes: tuple[str, ...]
    shape: tuple[int, int]
    channels: int
    fit: Fit
    mean: tuple[float, ...]
    std: tuple[float, ...]
    counts: tuple[int, ...] = ()
    shuffled: int = 0

    @classmethod
    def open(cls, kept: Kept) -> "Facts":
        """From the files of a run."""
        table = parse_json(kept.get(FILE, b""), FILE)
        classes, counts = _classes(table.get("classes")), table.get("counts", [])
        if counts and (not are_numbers(counts, len(classes)) or min(counts) < 0):
            raise InputError(f"{FILE}: damaged: counts that are not those of {len(classes):,} classes")
        shuffled = table.get("shuffled", 0)
        if type(shuffled) is not int or not 0 <= shuffled < ORDERS:
            raise InputError(f"{FILE}: damaged: {shuffled!r:.40} is no order of pixels")
        return cls(classes, *pixelwise(table, FILE), tuple(counts), shuffled)

    def scaled(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
        return super().scaled(self.arranged(pixels))

    def arranged(self, pixels: Tensor) -> Tensor:
        """Every pixel (…, rows, columns) where the model sees it: at its place, or shuffled."""
        if not self.shuffled:
            return pixels
        return pixels.flatten(-2)[..., self._order.to(pixels.device)].view_as(pixels)

    @cached_property
    def _order(self) -> Int[Tensor, "N"]:
        places = np.random.default_rng(self.shuffled).permutation(self.shape[0] * self.shape[1])
        return torch.from_numpy(places)

    def file(self) -> bytes:
        """What `open` reads."""
        return json.dumps(asdict(self), ensure_ascii=False).encode()


def _classes(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not 1 <= len(given) <= MOST or not all(type(one) is str for one in given):
        raise InputError(f"{FILE}: damaged: no names of classes in it")
    if any(not 1 <= len(one) <= LONGEST for one in given) or len(set(given)) < len(given):
        raise InputError(f"{FILE}: damaged: names of classes that no two classes can have")
    try:
        "".join(given).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{FILE}: damaged: names of classes that are no text") from error
    return tuple(given)
