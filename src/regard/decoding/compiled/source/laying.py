"""Many vectors side by side: tile by tile of as many as go at once, column k of all of them, then column k + 1.

So a lane is a vector, and nothing is added across lanes. They are laid as they are, or rounded with a scale for every
block of columns.
"""

import numpy as np
from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.functions import SHIFT
from regard.decoding.compiled.source.tiles import (
    LANES,
    ROUNDS,
    SQUARE,
    TOGETHER,
    WIDE,
    room,
    turn_square,
    turn_square_onto,
)
from regard.decoding.compiled.source.words import FAST, ONE, STRICT, ZERO, bits_of, copy, floats, wholes

FOUR, TWO = 4 * LANES, 2 * LANES
BYTES = 4 // max(1, TOGETHER)  # of a rounded number: eight bits, or sixteen
LEAST, FINEST = np.float32(1e-30), np.float32(127.0)  # of a scale; the largest rounded number

columns_room = room(at.BLOCK * FOUR)


@njit(**FAST)
def tile_of(left):
    """So many vectors, with empty ones among them, go at once where so many are left."""
    if left > TWO and WIDE:
        return FOUR
    return TWO if left > LANES else LANES


def turning(square, onto):
    """Lines become columns, `square` by square, in the place of what stands there or added to it."""

    @njit(**FAST)
    def turn(source, source_stride, lines, columns, target, target_stride):
        """target[j, i] = source[i, j]; strides are numbers from line to line."""
        across, down = columns // SQUARE * SQUARE, lines // SQUARE * SQUARE
        for j in range(0, across, SQUARE):
            for i in range(0, down, SQUARE):
                place = source + 4 * (i * source_stride + j)
                square(place, 4 * source_stride, target + 4 * (j * target_stride + i), 4 * target_stride)
        read, written = floats(source), floats(target)
        for i in range(lines):
            for j in range(across if i < down else 0, columns):
                before = written[j * target_stride + i] if onto else ZERO
                written[j * target_stride + i] = before + read[i * source_stride + j]

    return turn


turn_all, turn_onto = turning(turn_square, False), turning(turn_square_onto, True)


@njit(**FAST)
def depth(size):
    """Columns with those that fill up the last block."""
    return (size + at.BLOCK - 1) // at.BLOCK * at.BLOCK


@njit(**FAST)
def lay(x, rows, size, panel, rounds):
    """Vectors side by side, as `multiply_many` reads them, in float32 or rounded; what fills up is zero."""
    row, part = 0, columns_room()
    while row < rows:
        wide = tile_of(rows - row)
        here, place = min(wide, rows - row), panel + 4 * row * depth(size)
        if rounds and ROUNDS:
            for k in range(0, size, at.BLOCK):
                columns = min(at.BLOCK, size - k)
                fill(part, here, wide, columns, at.BLOCK)
                turn_all(x + 4 * (row * size + k), size, here, columns, part, wide)
                out, beside = place + BYTES * k * wide, place + (BYTES * depth(size) + k // at.BLOCK * 8) * wide
                round_block(part, wide, out, beside)
        else:
            fill(place, here, wide, size, size)
            turn_all(x + 4 * row * size, size, here, size, place, wide)
            for k in range(0, size if rounds else 0, at.BLOCK):
                hold_eight_bits(place + 4 * k * wide, wide, min(at.BLOCK, size - k))
        row += wide


@njit(**FAST)
def round_floats(x, rows, size, target):
    """Vectors as they stand, rounded, where the processor multiplies no whole numbers."""
    copy(x, target, rows * size)
    for row in range(rows):
        for k in range(0, size, at.BLOCK):
            hold_eight_bits(target + 4 * (row * size + k), 1, min(at.BLOCK, size - k))


@njit(**STRICT)
def hold_eight_bits(place, wide, columns):
    """A block of columns of vectors side by side becomes what eight bits and a scale can hold of it."""
    x = floats(place)
    for lane in range(wide):
        most, real = ZERO, ZERO
        for k in range(columns):
            size = abs(x[k * wide + lane])
            most = size if size > most else most
            real += x[k * wide + lane] * ZERO  # nothing, or no number: then the scale is none
        scale = most / FINEST + LEAST + real
        factor = ONE / scale
        for k in range(columns):
            x[k * wide + lane] = (x[k * wide + lane] * factor + SHIFT - SHIFT) * scale


@njit(**FAST)
def fill(place, here, wide, columns, depth):
    """Zeros where a tile has no vectors, and a block no columns."""
    numbers = floats(place)
    for k in range(columns if here < wide else 0):
        for lane in range(here, wide):
            numbers[k * wide + lane] = ZERO
    for i in range(columns * wide, depth * wide):
        numbers[i] = ZERO


@njit(**STRICT)
def round_pairs(x, scales, wide, pairs):
    """A block of columns in the room of sixteen bits, two of a vector in a row."""
    for k in range(0, at.BLOCK, 2):
        first, second = k * wide, (k + 1) * wide
        for lane in range(wide):
            size = ONE / scales[lane]
            a, b = x[first + lane] * size + SHIFT, x[second + lane] * size + SHIFT
            pairs[k // 2 * wide + lane] = np.int32((bits_of(a) & 65535) | bits_of(b) << 16)


@njit(**STRICT)
def round_block(part, wide, out, beside):
    """A block of columns as whole numbers, four or two of a vector in a row; beside it what takes a shift away, and
    the scale."""
    x, quarters, shifts, scales = floats(part), wholes(out), floats(beside), floats(beside + 4 * wide)
    for lane in range(wide):
        scales[lane] = ZERO
        shifts[lane] = ZERO
    for k in range(at.BLOCK):
        for lane in range(wide):
            size = abs(x[k * wide + lane])
            scales[lane] = size if size > scales[lane] else scales[lane]
            shifts[lane] += x[k * wide + lane] * ZERO  # nothing, or no number: then the scale is none
    for lane in range(wide):
        scales[lane] = scales[lane] / FINEST + LEAST + shifts[lane]
        shifts[lane] = ZERO
    if TOGETHER == 2:
        round_pairs(x, scales, wide, quarters)
        return
    for k in range(0, at.BLOCK, 4):
        first, second, third, fourth = k * wide, (k + 1) * wide, (k + 2) * wide, (k + 3) * wide
        for lane in range(wide):
            size = ONE / scales[lane]
            a, b = x[first + lane] * size + SHIFT, x[second + lane] * size + SHIFT
            c, d = x[third + lane] * size + SHIFT, x[fourth + lane] * size + SHIFT
            shifts[lane] += ((a - SHIFT) + (b - SHIFT)) + ((c - SHIFT) + (d - SHIFT))
            low = (bits_of(a) & 255) | (bits_of(b) & 255) << 8
            quarters[k // 4 * wide + lane] = np.int32(low | (bits_of(c) & 255) << 16 | (bits_of(d) & 255) << 24)
    taken = wholes(beside)
    for lane in range(wide):
        taken[lane] = np.int32(shifts[lane]) * np.int32(-128)
