"""Rectangles in images, one an image: to be covered, or to be filled from another."""

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

LEAST, MOST = 0.02, 0.33  # share of an image that is covered
NARROWEST = 0.3  # width by height


def boxes(
    share: NDArray[np.float64],
    shape: tuple[int, int],
    chance: np.random.Generator,
    ratio: NDArray[np.float64] | float = 1.0,
) -> Int[Tensor, "B four"]:
    """Rectangles of these shares of an image, anywhere, cut off at its edges: top, bottom, left, right.

    `ratio` is that of width to height, for an image that is a square.
    """
    sides = [np.sqrt(share / ratio), np.sqrt(share * ratio)]
    found = []
    for side, length in zip(sides, shape, strict=True):
        centre, half = chance.random(len(share)) * length, side * length / 2
        found += [np.clip(np.round(centre - half), 0, length), np.clip(np.round(centre + half), 0, length)]
    return torch.from_numpy(np.stack(found, 1).astype(np.int64))


def coverings(rows: int, often: float, shape: tuple[int, int], chance: np.random.Generator) -> Int[Tensor, "B four"]:
    """Rectangles of many shapes, as random erasing has them; none in most images, if it is not to be often."""
    covered = chance.random(rows) < often
    share = np.where(covered, chance.uniform(LEAST, MOST, rows), 0.0)
    return boxes(share, shape, chance, np.exp(chance.uniform(np.log(NARROWEST), -np.log(NARROWEST), rows)))


def inside(found: Int[Tensor, "B four"], shape: tuple[int, int]) -> Bool[Tensor, "B 1 Y X"]:
    """Which pixels are in the rectangle of their image."""
    top, bottom, left, right = found[:, :, None].unbind(1)
    down, along = (torch.arange(length, device=found.device) for length in shape)
    rows, columns = (down >= top) & (down < bottom), (along >= left) & (along < right)
    return (rows[:, :, None] & columns[:, None, :])[:, None]
