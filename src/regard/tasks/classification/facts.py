"""What a run keeps of the images it learnt from: their classes, and how pixels are made ready for the model."""

import json
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, TypeGuard

from jaxtyping import Float, UInt8
from torch import Tensor

from regard.datasets.images.fit import Fit
from regard.disk import parse_json
from regard.errors import InputError
from regard.recipe import Size
from regard.tasks.classification.options import CHANNELS, FITS, LARGEST
from regard.tasks.task import Kept

FILE = "classification.json"
MOST = 2**16  # classes
LONGEST = 1_000  # letters of the name of a class
SCALE = 100.0  # of means, and of one by a deviation: pixels are between 0 and 1


@dataclass(frozen=True)
class Facts:
    """Names of classes in the order of the logits; shape (rows, columns) and channels of images, how others are made to
    fit; mean and deviation of each channel, for pixels between 0 and 1; the training images of each class."""

    classes: tuple[str, ...]
    shape: tuple[int, int]
    channels: int
    fit: Fit
    mean: tuple[float, ...]
    std: tuple[float, ...]
    counts: tuple[int, ...] = ()

    @classmethod
    def open(cls, kept: Kept) -> "Facts":
        """From the files of a run."""
        table = parse_json(kept.get(FILE, b""), FILE)
        shape, channels, fit = table.get("shape"), table.get("channels"), table.get("fit")
        if not _numbers(shape, 2) or not all(1 <= side <= LARGEST for side in shape):
            raise InputError(f"{FILE}: damaged: {shape!r:.40} is no shape of images")
        if type(channels) is not int or channels not in CHANNELS:
            raise InputError(f"{FILE}: damaged: {channels!r:.40} channels")
        if fit not in FITS:
            raise InputError(f"{FILE}: damaged: {fit!r:.40} is no way to fit images")
        classes, counts = _classes(table.get("classes")), table.get("counts", [])
        if counts and (not _numbers(counts, len(classes)) or min(counts) < 0):
            raise InputError(f"{FILE}: damaged: counts that are not those of {len(classes):,} classes")
        mean, std = (_figures(table.get(name), name, channels) for name in ("mean", "std"))
        if min(std) < 1 / SCALE**2:
            raise InputError(f"{FILE}: damaged: std: pixels would be divided by {min(std):g}")
        return cls(classes, (shape[0], shape[1]), channels, fit, mean, std, tuple(counts))

    def file(self) -> bytes:
        """What `open` reads."""
        return json.dumps(asdict(self), ensure_ascii=False).encode()

    @property
    def size(self) -> Size:
        """The shape as a recipe says it: the side of a square, or rows and columns."""
        return self.shape[0] if self.shape[0] == self.shape[1] else list(self.shape)

    def normalised(self, images: UInt8[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
        """Bytes as the model wants them."""
        return self.scaled(images.float() / 255)

    def scaled(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
        """The same of pixels that are between 0 and 1."""
        mean, std = (pixels.new_tensor(figures)[:, None, None] for figures in (self.mean, self.std))
        return (pixels - mean) / std


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


def _numbers(given: Any, count: int) -> TypeGuard[list[int]]:
    return isinstance(given, list) and len(given) == count and all(type(one) is int for one in given)


def _figures(given: Any, name: str, count: int) -> tuple[float, ...]:
    if not isinstance(given, list) or len(given) != count or not all(type(one) in (int, float) for one in given):
        raise InputError(f"{FILE}: damaged: {name}: wanted {count} numbers, one a channel")
    if not all(abs(one) <= SCALE and isfinite(one) for one in given):
        raise InputError(f"{FILE}: damaged: {name}: {given!r:.60} are none of pixels between 0 and 1")
    return tuple(map(float, given))
