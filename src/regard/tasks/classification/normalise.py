"""Mean and deviation of the pixels of training images."""

import numpy as np

from regard.datasets.images.pixels import Pixels

LOOKED = 10_000  # images that are looked at, from all over
TOGETHER = 2**24  # bytes at a time
FLAT = 0.004  # a deviation of less than a shade: nothing to divide by


def statistics(pixels: Pixels) -> tuple[list[float], list[float]]:
    """Of each channel, for pixels between 0 and 1; a channel that is all alike has a deviation of one."""
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
