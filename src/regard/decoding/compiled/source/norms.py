"""Norms of a few vectors."""

import math

import numpy as np
from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.words import FAST, ONE, ZERO, floats


@njit(**FAST)
def norm(kind, x, out, rows, width, weight, bias, eps):
    """LayerNorm or RMSNorm of `rows` vectors that stand one after another; weight and bias are addresses."""
    scale, shift = floats(weight), floats(bias)
    for row in range(rows):
        start = row * width
        mean = ZERO
        if kind == at.LAYER_NORM:
            for i in range(width):
                mean += x[start + i]
            mean /= np.float32(width)
        square = ZERO
        for i in range(width):
            square += (x[start + i] - mean) * (x[start + i] - mean)
        size = ONE / math.sqrt(square / np.float32(width) + eps)
        if bias != 0:
            for i in range(width):
                out[start + i] = (x[start + i] - mean) * size * scale[i] + shift[i]
        else:
            for i in range(width):
                out[start + i] = (x[start + i] - mean) * size * scale[i]


@njit(**FAST)
def put_norm(call, place, x, out, rows):
    """norm(x), between addresses."""
    eps = floats(call[at.NUMBERS])[at.EPS]
    norm(call[at.NORM_KIND], floats(x), floats(out), rows, call[at.WIDTH], place[0], place[1], eps)
