"""Vectors times some rows of a matrix: every weight is read once for up to four vectors, or for a tile of many."""

from typing import Any

import numpy as np
from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.laying import lay
from regard.decoding.compiled.source.many import FEW, multiply_many
from regard.decoding.compiled.source.packed import SEVERAL, multiply_packed, round_rows
from regard.decoding.compiled.source.passing import multiply_passing, passes
from regard.decoding.compiled.source.tiles import ROUNDS
from regard.decoding.compiled.source.vectors import dots
from regard.decoding.compiled.source.words import FAST, ZERO, eighths, floats


@njit(**FAST)
def dot(w, x, size):
    """w · x"""
    total = ZERO
    for i in range(size):
        total += w[i] * x[i]
    return total


@njit(**FAST)
def rest(weights, scales, x, size, start):
    """One row of weights times one vector, from a column on: those that fill no block, or all."""
    if scales == 0:
        return dot(floats(weights + 4 * start), floats(x + 4 * start), size - start)
    weight, scale, vector = eighths(weights), floats(scales), floats(x)
    total = ZERO
    while start < size:
        stop, part = min(size, start + at.BLOCK), ZERO
        for i in range(start, stop):
            part += np.float32(weight[i]) * vector[i]
        total += part * scale[start // at.BLOCK]
        start = stop
    return total


def product(rows: int, eight: bool) -> Any:
    """A product that has so many rows at hand at once, with weights in eight bits or in float32."""
    kernel, wide = dots(rows, eight), 1 if eight else 4

    @njit(**FAST)
    def run(matrix, x, size, start, stop, out, stride, base):
        blocks, whole_blocks = (size + at.BLOCK - 1) // at.BLOCK, size // at.BLOCK * at.BLOCK
        weights, scales, biases = matrix[0], matrix[1], matrix[2]
        for o in range(start, stop):
            sums = kernel(weights + wide * o * size, scales + 4 * o * blocks, x, size)
            bias = floats(biases)[o] if biases != 0 else ZERO
            for row in range(rows):
                total, place = sums[row] + bias, row * stride + o
                if whole_blocks < size:
                    here = scales + 4 * o * blocks if eight else 0
                    total += rest(weights + wide * o * size, here, x + 4 * row * size, size, whole_blocks)
                if base != 0:
                    total += floats(base)[place]
                floats(out)[place] = total

    return run


PART = 32  # outputs

one, two, four = product(1, False), product(2, False), product(4, False)
one_eighths, two_eighths, four_eighths = product(1, True), product(2, True), product(4, True)


@njit(**FAST)
def wide(matrix):
    """Bytes of a weight."""
    return 1 if matrix[1] != 0 else 4


@njit(**FAST)
def multiply_part(matrix, x, rows, size, start, stop, out, stride, base):
    """The same, row by row in groups of four, two and one."""
    row, eight = 0, matrix[1] != 0
    while row < rows:
        given, written = x + 4 * row * size, out + 4 * row * stride
        before = base if base == 0 else base + 4 * row * stride
        many = 4 if rows - row >= 4 else 2 if rows - row >= 2 else 1
        if many == 4:
            if eight:
                four_eighths(matrix, given, size, start, stop, written, stride, before)
            else:
                four(matrix, given, size, start, stop, written, stride, before)
        elif many == 2:
            if eight:
                two_eighths(matrix, given, size, start, stop, written, stride, before)
            else:
                two(matrix, given, size, start, stop, written, stride, before)
        elif eight:
            one_eighths(matrix, given, size, start, stop, written, stride, before)
        else:
            one(matrix, given, size, start, stop, written, stride, before)
        row += many


@njit(**FAST)
def laid(matrix, x, rows, size, panel):
    """Vectors as `multiply` takes them: as they stand where they are few, else side by side in a room for them."""
    if (matrix[at.PACKED] != 0 and rows >= SEVERAL) or passes(matrix, rows):
        if matrix[1] == 0 or not ROUNDS:
            return x
        round_rows(matrix, x, rows, size, panel)
        return panel
    if rows <= FEW:
        return x
    lay(x, rows, size, panel, ROUNDS and matrix[1] != 0)
    return panel


@njit(**FAST)
def multiply(matrix, x, rows, size, start, stop, out, stride, base):
    """out[r, o] = base[r, o] + W[o] · x[r] + b[o] for the outputs from start to stop; base may be 0, for none.

    `matrix` is a place in a table: addresses of weights, scales and bias, and of their panels; x, out and base are
    addresses. Where there are more rows than go at once, weights are taken in parts that a cache holds from one group
    of rows to the next; many rows were `laid` before, side by side where weights are not packed.
    """
    if matrix[at.PACKED] != 0 and rows >= SEVERAL:
        multiply_packed(matrix, x, rows, size, start, stop, out, stride, base)
        return
    if passes(matrix, rows):
        multiply_passing(matrix, x, rows, size, start, stop, out, stride, base)
        return
    if rows > FEW:
        multiply_many(matrix, x, rows, size, start, stop, out, stride, base)
        return
    part = max(1, stop - start) if rows <= 4 else PART
    while start < stop:
        end = min(stop, start + part)
        multiply_part(matrix, x, rows, size, start, end, out, stride, base)
        start = end
