"""Images of any size brought to one size."""

from typing import Literal

import numpy as np
from PIL import Image

from regard.datasets.images.picture import PixelArray

Fit = Literal["crop", "squash", "pad"]
Shape = tuple[int, int]
"""Rows and columns."""
SMOOTH = Image.Resampling.BILINEAR  # over all pixels that fall together, so that nothing flickers when it gets smaller


def fitted(pixels: PixelArray, shape: Shape, channels: int, fit: Fit) -> PixelArray:
    """An image (rows, columns, colours) as a model reads it: (channels, *shape).

    `crop` keeps the shape of things and cuts off what stands out on two sides; `squash` keeps all and changes the
    shape; `pad` keeps both and fills two sides up with black. One channel is how bright a colour looks.
    """
    if channels not in (1, 3):
        raise ValueError(f"channels: wanted 1 (grey) or 3 (colours), given {channels}")
    grey, sized = pixels.shape[2] == 1, pixels
    if pixels.shape[:2] != shape or (channels == 1 and not grey):
        image = Image.fromarray(pixels[:, :, 0] if grey else pixels)
        image = image.convert("L") if channels == 1 and not grey else image
        sized = np.asarray(_sized(image, shape, fit)).reshape(*shape, -1)
    rows = sized.transpose(2, 0, 1)
    return np.repeat(rows, 3, 0) if channels == 3 and grey else np.ascontiguousarray(rows)


def _sized(image: Image.Image, shape: Shape, fit: Fit) -> Image.Image:
    down, across = shape
    if image.size == (across, down):
        return image
    if fit == "squash":
        return image.resize((across, down), SMOOTH)
    ratios = across / image.width, down / image.height
    if fit == "crop":
        wide, high = (side / max(ratios) for side in (across, down))
        left, top = (image.width - wide) / 2, (image.height - high) / 2
        box = max(0.0, left), max(0.0, top), min(image.width, left + wide), min(image.height, top + high)
        return image.resize((across, down), SMOOTH, box)
    inner = max(1, round(image.width * min(ratios))), max(1, round(image.height * min(ratios)))
    made = Image.new(image.mode, (across, down))
    made.paste(image.resize(inner, SMOOTH), ((across - inner[0]) // 2, (down - inner[1]) // 2))
    return made
