"""What runs keep of images, whatever is learnt from them: their shape, and how pixels are made ready for the model."""

from abc import ABC
from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple, TypeGuard

from jaxtyping import Float, UInt8
from torch import Tensor

from regard.datasets.images.fit import Fit, Fitting
from regard.errors import InputError
from regard.recipe import Size
from regard.tasks.images.options import CHANNELS, FITS, INTERPOLATIONS, LARGEST, LEAST

SCALE = 100.0  # of means, and of one by a deviation: pixels are between 0 and 1


class ImageFacts(ABC):
    """The shape of images (rows, columns), their channels, how others are made to fit, and of each channel mean and
    deviation for pixels between 0 and 1."""

    shape: tuple[int, int]
    channels: int
    fit: Fit
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @property
    def size(self) -> Size:
        """The shape as a recipe says it: the side of a square, or rows and columns."""
        return self.shape[0] if self.shape[0] == self.shape[1] else list(self.shape)

    def scale(self, channels: int) -> tuple[list[float], list[float]]:
        """Mean and deviation, as a recipe says them; none for images of other channels."""
        return (list(self.mean), list(self.std)) if channels == self.channels else ([], [])

    def normalised(self, images: UInt8[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
        """Bytes as the model wants them."""
        return self.scaled(images.float() / 255)

    def scaled(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
        """The same of pixels that are between 0 and 1."""
        mean, std = self._by_channel(pixels)
        return (pixels - mean) / std

    def unscaled(self, numbers: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
        """Back from what the model sees to pixels between 0 and 1, as far as they are."""
        mean, std = self._by_channel(numbers)
        return numbers * std + mean

    def _by_channel(self, like: Tensor) -> tuple[Tensor, Tensor]:
        mean, std = (like.new_tensor(figures)[:, None, None] for figures in (self.mean, self.std))
        return mean, std


class Pixelwise(NamedTuple):
    """What a file of a run says of pixels, in the order of `ImageFacts`."""

    shape: tuple[int, int]
    channels: int
    fit: Fit
    mean: tuple[float, ...]
    std: tuple[float, ...]


def pixelwise(table: Mapping[str, Any], file: str) -> Pixelwise:
    """What the table of a file says of pixels; what cannot be is refused."""
    shape: Any = table.get("shape")
    channels: Any = table.get("channels")
    if not are_numbers(shape, 2) or not all(1 <= side <= LARGEST for side in shape):
        raise InputError(f"{file}: damaged: {shape!r:.40} is no shape of images")
    if type(channels) is not int or channels not in CHANNELS:
        raise InputError(f"{file}: damaged: {channels!r:.40} channels")
    mean, std = (_figures(table.get(name), name, channels, file) for name in ("mean", "std"))
    if min(std) < 1 / SCALE**2:
        raise InputError(f"{file}: damaged: std: pixels would be divided by {min(std):g}")
    return Pixelwise((shape[0], shape[1]), channels, _fit(table.get("fit"), file), mean, std)


def are_numbers(given: Any, count: int) -> TypeGuard[list[int]]:
    """Whether something from a file is a list of so many whole numbers."""
    return isinstance(given, list) and len(given) == count and all(type(one) is int for one in given)


def _fit(given: Any, file: str) -> Fit:
    """A word, or three: the way, how pixels are drawn out of others, and the share of the sides that is kept."""
    said: list[Any] = given if isinstance(given, list) and len(given) == 3 else [given, "bilinear", 1.0]
    way, interpolation, middle = said
    known = type(way) is str and way in FITS and type(interpolation) is str and interpolation in INTERPOLATIONS
    if not known or type(middle) is not float or not LEAST <= middle <= 1:
        raise InputError(f"{file}: damaged: {given!r:.40} is no way to fit images")
    return Fitting(way, interpolation, middle) if isinstance(given, list) else way


def _figures(given: Any, name: str, count: int, file: str) -> tuple[float, ...]:
    if not isinstance(given, list) or len(given) != count or not all(type(one) in (int, float) for one in given):
        raise InputError(f"{file}: damaged: {name}: wanted {count} numbers, one a channel")
    if not all(abs(one) <= SCALE and isfinite(one) for one in given):
        raise InputError(f"{file}: damaged: {name}: {given!r:.60} are none of pixels between 0 and 1")
    return tuple(map(float, given))
