"""Mean and deviation of the pixels of training images."""

from collections.abc import Sequence

import numpy as np

from regard.datasets.images.pixels import Pixels

LOOKED = 10_000  # images that are looked at, from all over
TOGETHER = 2**24  # bytes at a time
FLAT = 0.004  # a deviation of less than a shade: nothing to divide by


def statistics(
    pixels: Pixels, mean: Sequence[float] = (), std: Sequence[float] = ()
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Of each channel, for pixels between 0 and 1, unless they are given; a channel that is all alike has a deviation
    of one."""
    if mean and std:
        return tuple(mean), tuple(std)
    found = _measured(pixels)
    return tuple(mean or found[0]), tuple(std or found[1])


def _measured(pixels: Pixels) -> tuple[list[float], list[float]]:
    rows = np.unique(np.linspace(0, len(pixels) - 1, min(LOOKED, len(pixels))).astype(np.int64))
    channels, height, width = pixels.images.shape[1:]
    some = max(1, TOGETHER // (channels * height * width))
    sums, squares = np.zeros(channels), np.zeros(channels)
    for start in range(0, len(rows), some):
        block = pixels.images[rows[start : start + some]].astype(np.uint32)
        sums += block.sum((0, 2, 3), dtype=np.float64)
        squares += (block * block).sum((0, 2, 3), dtype=np.float64)
    count = max(1, len(rows) * height * width)
    mean = sums / count
    std = np.sqrt(np.maximum(0, squares / count - mean**2)) / 255
    return np.round(mean / 255, 4).tolist(), np.round(np.where(std < FLAT, 1.0, std), 4).tolist()
