"""A few vectors times some rows of a matrix: every weight is read once for up to four vectors."""

import numpy as np
from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.words import FAST, ZERO, eighths, floats


@njit(**FAST)
def dot(w, x, size):
    """w · x"""
    total = ZERO
    for i in range(size):
        total += w[i] * x[i]
    return total


@njit(**FAST)
def dot_four(w, a, b, c, d, size):
    """One row of weights times four vectors."""
    total_a, total_b, total_c, total_d = ZERO, ZERO, ZERO, ZERO
    for i in range(size):
        total_a += w[i] * a[i]
        total_b += w[i] * b[i]
        total_c += w[i] * c[i]
        total_d += w[i] * d[i]
    return total_a, total_b, total_c, total_d


@njit(**FAST)
def dot_eighths(w, scales, x, size):
    """The same where a block of weights in eight bits has one scale: Σ_b scale_b Σ_i w_i x_i."""
    total = ZERO
    full = size // at.BLOCK
    for block in range(full):
        start, part = block * at.BLOCK, ZERO
        for i in range(start, start + at.BLOCK):
            part += np.float32(w[i]) * x[i]
        total += part * scales[block]
    part = ZERO
    for i in range(full * at.BLOCK, size):
        part += np.float32(w[i]) * x[i]
    return total + part * scales[full] if size > full * at.BLOCK else total


@njit(**FAST)
def dot_eighths_four(w, scales, a, b, c, d, size):
    """And times four vectors."""
    total_a, total_b, total_c, total_d = ZERO, ZERO, ZERO, ZERO
    for block in range((size + at.BLOCK - 1) // at.BLOCK):
        part_a, part_b, part_c, part_d = ZERO, ZERO, ZERO, ZERO
        for i in range(block * at.BLOCK, min(size, (block + 1) * at.BLOCK)):
            weight = np.float32(w[i])
            part_a += weight * a[i]
            part_b += weight * b[i]
            part_c += weight * c[i]
            part_d += weight * d[i]
        total_a += part_a * scales[block]
        total_b += part_b * scales[block]
        total_c += part_c * scales[block]
        total_d += part_d * scales[block]
    return total_a, total_b, total_c, total_d


@njit(**FAST)
def multiply(matrix, x, rows, size, start, stop, out, stride, base):
    """out[r, o] = base[r, o] + W[o] · x[r] + b[o] for the outputs from start to stop; base may be 0, for none.

    `matrix` is a place in a table: addresses of weights, scales and bias; x, out and base are addresses.
    """
    weights, scales, bias = matrix[0], matrix[1], floats(matrix[2])
    blocks = (size + at.BLOCK - 1) // at.BLOCK
    written, before = floats(out), floats(base)
    for o in range(start, stop):
        more = bias[o] if matrix[2] != 0 else ZERO
        row = 0
        while row < rows:
            here = x + 4 * row * size
            many = 4 if row + 4 <= rows else 1
            a, b, c, d = ZERO, ZERO, ZERO, ZERO
            if many == 4:
                p, q, r, s = floats(here), floats(here + 4 * size), floats(here + 8 * size), floats(here + 12 * size)
                if scales == 0:
                    a, b, c, d = dot_four(floats(weights + 4 * o * size), p, q, r, s, size)
                else:
                    w, scale = eighths(weights + o * size), floats(scales + 4 * o * blocks)
                    a, b, c, d = dot_eighths_four(w, scale, p, q, r, s, size)
            elif scales == 0:
                a = dot(floats(weights + 4 * o * size), floats(here), size)
            else:
                a = dot_eighths(eighths(weights + o * size), floats(scales + 4 * o * blocks), floats(here), size)
            place = row * stride + o
            written[place] = a + more + (before[place] if base != 0 else ZERO)
            if many == 4:
                for extra, value in ((1, b), (2, c), (3, d)):
                    place = (row + extra) * stride + o
                    written[place] = value + more + (before[place] if base != 0 else ZERO)
            row += many
