"""Images of any size brought to one size."""

from typing import Literal, NamedTuple

import numpy as np
from PIL import Image

from regard.datasets.images.picture import MOST_PIXELS, PixelArray

Way = Literal["crop", "squash", "pad", "shortest_edge"]
Interpolation = Literal["bilinear", "bicubic", "nearest", "lanczos", "box", "hamming"]
Shape = tuple[int, int]
"""Rows and columns."""
Box = tuple[float, float, float, float]
"""Left, top, right and lower edge of what is seen of an image."""
ROUNDING = 1e-6  # of a side by a share of it


class Fitting(NamedTuple):
    """A way with more to say of it: how pixels are drawn out of others (by all that fall together, so that nothing
    flickers when it gets smaller), and the share of each side that is kept, in the middle."""

    way: Way
    interpolation: Interpolation = "bilinear"
    middle: float = 1.0


Fit = Way | Fitting


def fitting(way: Way, interpolation: Interpolation, middle: float) -> Fit:
    """How images are fitted, in as few words as it can be said."""
    whole = Fitting(way, interpolation, middle)
    return way if whole == Fitting(way) else whole


def fitted(pixels: PixelArray, shape: Shape, channels: int, fit: Fit) -> PixelArray:
    """An image (rows, columns, colours) as a model reads it: (channels, *shape).

    `crop` keeps the shape of things and cuts off what stands out on two sides; `shortest_edge` does so in whole
    pixels, as `transformers` and timm do; `squash` keeps all and changes the shape; `pad` keeps both and fills two
    sides up with black. One channel is how bright a colour looks.
    """
    if channels not in (1, 3):
        raise ValueError(f"channels: wanted 1 (grey) or 3 (colours), given {channels}")
    how = fit if isinstance(fit, Fitting) else Fitting(fit)
    grey, sized = pixels.shape[2] == 1, pixels
    if pixels.shape[:2] != shape or how.middle < 1 or (channels == 1 and not grey):
        image = Image.fromarray(pixels[:, :, 0] if grey else pixels)
        image = image.convert("L") if channels == 1 and not grey else image
        sized = np.asarray(_sized(image, shape, how)).reshape(*shape, -1)
    rows = sized.transpose(2, 0, 1)
    return np.repeat(rows, 3, 0) if channels == 3 and grey else np.ascontiguousarray(rows)


def enlarged(shape: Shape, middle: float) -> Shape:
    """The whole pixels of which a shape is the middle."""
    return int(shape[0] / middle + ROUNDING), int(shape[1] / middle + ROUNDING)


def _sized(image: Image.Image, shape: Shape, how: Fitting) -> Image.Image:
    down, across = shape
    if image.size == (across, down) and how.middle == 1:
        return image
    drawn = Image.Resampling[how.interpolation.upper()]
    if how.way == "crop":
        return image.resize((across, down), drawn, _middle(image.size, shape, how.middle))
    if how.way != "pad":
        return _cut(image, shape, how, drawn)
    ratio = min(across / image.width, down / image.height) / how.middle
    inner = max(1, round(image.width * ratio)), max(1, round(image.height * ratio))
    made = Image.new(image.mode, (across, down))
    made.paste(image.resize(inner, drawn), ((across - inner[0]) // 2, (down - inner[1]) // 2))
    return made


def _middle(size: tuple[int, int], shape: Shape, share: float) -> Box:
    """The largest part of an image that has the sides of a shape, or a share of it, to the fraction of a pixel."""
    ratio = max(shape[1] / size[0], shape[0] / size[1])
    wide, high = share * shape[1] / ratio, share * shape[0] / ratio
    left, top = (size[0] - wide) / 2, (size[1] - high) / 2
    return max(0.0, left), max(0.0, top), min(float(size[0]), left + wide), min(float(size[1]), top + high)


def _cut(image: Image.Image, shape: Shape, how: Fitting, drawn: Image.Resampling) -> Image.Image:
    """An image brought to whole pixels first and then cut to a shape in its middle; where there is an odd number too
    many, one pixel more goes to the right and below. What would be too large to hold on the way is cut first."""
    high, wide = enlarged(shape, how.middle)
    if how.way == "shortest_edge" and wide * image.height >= high * image.width:
        high = wide * image.height // image.width
    elif how.way == "shortest_edge":
        wide = high * image.width // image.height
    left, top = (wide - shape[1]) // 2, (high - shape[0]) // 2
    edges = left, top, left + shape[1], top + shape[0]
    if wide * high <= MOST_PIXELS:
        return image.resize((wide, high), drawn).crop(edges)
    across, down = image.width / wide, image.height / high
    right, below = min(float(image.width), edges[2] * across), min(float(image.height), edges[3] * down)
    return image.resize((shape[1], shape[0]), drawn, (left * across, top * down, right, below))
