"""Vectors times some rows of a matrix: every weight is read once for up to four vectors, or for a tile of many.

Where weights have eight bits vectors are rounded to as many, with a scale for every block of columns, whatever their
number and whichever way they are multiplied: so none depends on the others.
"""

from typing import Any

from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.few import multiply_eighths
from regard.decoding.compiled.source.laying import lay, round_floats
from regard.decoding.compiled.source.many import are_few, multiply_many
from regard.decoding.compiled.source.packed import by_panels, multiply_packed, round_rows
from regard.decoding.compiled.source.passing import multiply_passing, passes
from regard.decoding.compiled.source.tiles import ROUNDS
from regard.decoding.compiled.source.vectors import dots
from regard.decoding.compiled.source.words import FAST, ZERO, floats


@njit(**FAST)
def dot(w, x, size):
    """w · x"""
    total = ZERO
    for i in range(size):
        total += w[i] * x[i]
    return total


def product(rows: int) -> Any:
    """A product that has so many rows at hand at once, with weights in float32."""
    kernel = dots(rows, False)

    @njit(**FAST)
    def run(matrix, x, size, start, stop, out, stride, base):
        done = size // at.BLOCK * at.BLOCK
        weights, biases = matrix[0], matrix[2]
        for o in range(start, stop):
            sums = kernel(weights + 4 * o * size, 0, x, size)
            bias = floats(biases)[o] if biases != 0 else ZERO
            for row in range(rows):
                total, place = sums[row] + bias, row * stride + o
                if done < size:
                    total += dot(
                        floats(weights + 4 * (o * size + done)), floats(x + 4 * (row * size + done)), size - done
                    )
                if base != 0:
                    total += floats(base)[place]
                floats(out)[place] = total

    return run


PART = 32  # outputs

one, two, four = product(1), product(2), product(4)


@njit(**FAST)
def wide(matrix):
    """Bytes of a weight."""
    return 1 if matrix[1] != 0 else 4


@njit(**FAST)
def multiply_part(matrix, x, rows, size, start, stop, out, stride, base):
    """The same, row by row in groups of four, two and one."""
    if matrix[1] != 0:
        multiply_eighths(matrix, x, rows, size, start, stop, out, stride, base)
        return
    row = 0
    while row < rows:
        given, written = x + 4 * row * size, out + 4 * row * stride
        before = base if base == 0 else base + 4 * row * stride
        many = 4 if rows - row >= 4 else 2 if rows - row >= 2 else 1
        if many == 4:
            four(matrix, given, size, start, stop, written, stride, before)
        elif many == 2:
            two(matrix, given, size, start, stop, written, stride, before)
        else:
            one(matrix, given, size, start, stop, written, stride, before)
        row += many


@njit(**FAST)
def laid(matrix, x, rows, size, panel):
    """Vectors as `multiply` takes them: rounded for weights in eight bits, in a room for them; side by side where they
    are many; else as they stand."""
    as_rows = by_panels(matrix, rows) or passes(matrix, rows) or are_few(matrix, rows)
    if matrix[1] == 0 and as_rows:
        return x
    if not as_rows:
        lay(x, rows, size, panel, matrix[1] != 0)
    elif ROUNDS:
        round_rows(matrix, x, rows, size, panel)
    else:
        round_floats(x, rows, size, panel)
    return panel


@njit(**FAST)
def multiply(matrix, x, rows, size, start, stop, out, stride, base):
    """out[r, o] = base[r, o] + W[o] · x[r] + b[o] for the outputs from start to stop; base may be 0, for none.

    `matrix` is a place in a table: addresses of weights, scales and bias, and of their panels; x, out and base are
    addresses. Where there are more rows than go at once, weights are taken in parts that a cache holds from one group
    of rows to the next; vectors were `laid` before.
    """
    if by_panels(matrix, rows):
        multiply_packed(matrix, x, rows, size, start, stop, out, stride, base)
        return
    if passes(matrix, rows):
        multiply_passing(matrix, x, rows, size, start, stop, out, stride, base)
        return
    if not are_few(matrix, rows):
        multiply_many(matrix, x, rows, size, start, stop, out, stride, base)
        return
    part = max(1, stop - start) if rows <= 4 else PART
    while start < stop:
        end = min(stop, start + part)
        multiply_part(matrix, x, rows, size, start, end, out, stride, base)
        start = end
