"""Many vectors, laid side by side, times some rows of a matrix.

Sums of some outputs are made in a room of their own, and turned into lines of the result when they are whole.
"""

import numpy as np
from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.laying import BYTES, FOUR, TWO, depth, tile_of, turn_all, turn_onto
from regard.decoding.compiled.source.tiles import (
    LANES,
    ROUNDS,
    TOGETHER,
    WIDE,
    room,
    tile,
    tile_eighths,
    tile_nothing,
)
from regard.decoding.compiled.source.words import FAST, STRICT, ZERO, eighths, floats, marks, sixteenths

FEW = 6  # rows: more are laid side by side, …
FEW_EIGHTHS = 10 if TOGETHER == 4 else FEW  # … and of these, where a tile of 16 would be nearly empty
DEEP = 128  # columns that are summed up before the next outputs: what they need of all vectors stays near
PART = 48  # outputs whose sums are made together
AT_ONCE = 128  # vectors, whole tiles of them, for which weights are read once
LINE = DEEP * BYTES  # of so many rounded weights

sums_room, weights_room = room(PART * AT_ONCE), room(PART * DEEP)
four_vectors, two_vectors, one_vector = tile(6, 4 if WIDE else 2), tile(6, 2), tile(12, 1)
four_single, two_single, one_single = tile(1, 4 if WIDE else 2), tile(1, 2), tile(1, 1)

eighths_of = tile_eighths if ROUNDS else tile_nothing
four_eighths, two_eighths, one_eighths = eighths_of(6, 4 if WIDE else 2), eighths_of(6, 2), eighths_of(12, 1)
four_single_eighths, two_single_eighths, one_single_eighths = (
    eighths_of(1, 4 if WIDE else 2), eighths_of(1, 2), eighths_of(1, 1)
)  # fmt: skip


@njit(**FAST)
def are_few(matrix, rows):
    """Whether rows are taken as they stand, one behind the other."""
    return rows <= (FEW if matrix[1] == 0 else FEW_EIGHTHS)


@njit(**FAST)
def add_up(weights, stride, x, wide, columns, outputs, sums):
    """The sums of some outputs over some columns, for one tile of vectors."""
    o, many = 0, 6 if wide > LANES else 12
    while o + many <= outputs:
        place, total = weights + o * stride, sums + 4 * o * wide
        if wide == LANES:
            one_vector(place, stride, x, columns, total)
        elif wide == TWO:
            two_vectors(place, stride, x, columns, total)
        else:
            four_vectors(place, stride, x, columns, total)
        o += many
    while o < outputs:
        place, total = weights + o * stride, sums + 4 * o * wide
        if wide == LANES:
            one_single(place, stride, x, columns, total)
        elif wide == TWO:
            two_single(place, stride, x, columns, total)
        else:
            four_single(place, stride, x, columns, total)
        o += 1


@njit(**FAST)
def write_out(matrix, size, start, stop, first, columns, out):
    """Weights in eight bits as numbers: some columns of some outputs, those of each behind each other."""
    blocks = (size + at.BLOCK - 1) // at.BLOCK
    for o in range(start, stop):
        weight, scale = eighths(matrix[0] + o * size + first), floats(matrix[1] + 4 * o * blocks)
        numbers, done = floats(out + 4 * (o - start) * columns), 0
        while done < columns:
            here, factor = min(columns, done + at.BLOCK), scale[(first + done) // at.BLOCK]
            for k in range(done, here):
                numbers[k] = np.float32(weight[k]) * factor
            done = here


@njit(**FAST)
def copy_out(matrix, size, start, stop, first, columns, out):
    """Some columns of some outputs without a gap: what is apart by a power of two has one place in a cache."""
    for o in range(start, stop):
        weight, numbers = floats(matrix[0] + 4 * (o * size + first)), floats(out + 4 * (o - start) * columns)
        for k in range(columns):
            numbers[k] = weight[k]


@njit(**FAST)
def shift_out(matrix, size, start, stop, first, columns, out):
    """Some columns of some outputs, DEEP each, as tiles want them: from 0 on instead of -128, or in sixteen bits."""
    if TOGETHER == 2:
        for o in range(start, stop):
            given, wider = eighths(matrix[0] + o * size + first), sixteenths(out + 2 * (o - start) * DEEP)
            for k in range(columns):
                wider[k] = given[k]
        return
    for o in range(start, stop):
        weight, shifted = marks(matrix[0] + o * size + first), marks(out + (o - start) * DEEP)
        for k in range(columns):
            shifted[k] = weight[k] ^ 128


@njit(**STRICT)
def add_up_eighths(weights, scales, apart, x, beside, wide, outputs, sums):
    """The sums of some outputs over one block of columns, for one tile of vectors, all of it rounded."""
    o, many = 0, 6 if wide > LANES else 12
    while o + many <= outputs:
        place, scale, total = weights + o * LINE, scales + o * apart, sums + 4 * o * wide
        if wide == LANES:
            one_eighths(place, LINE, x, beside, scale, apart, total)
        elif wide == TWO:
            two_eighths(place, LINE, x, beside, scale, apart, total)
        else:
            four_eighths(place, LINE, x, beside, scale, apart, total)
        o += many
    while o < outputs:
        place, scale, total = weights + o * LINE, scales + o * apart, sums + 4 * o * wide
        if wide == LANES:
            one_single_eighths(place, LINE, x, beside, scale, apart, total)
        elif wide == TWO:
            two_single_eighths(place, LINE, x, beside, scale, apart, total)
        else:
            four_single_eighths(place, LINE, x, beside, scale, apart, total)
        o += 1


@njit(**FAST)
def add_up_blocks(matrix, panel, row, wide, size, start, stop, first, columns, weights, sums):
    """The same over several blocks, from the column `first` on."""
    blocks = depth(size) // at.BLOCK
    tile_at = panel + 4 * row * depth(size)
    for k in range(0, columns, at.BLOCK):
        block = (first + k) // at.BLOCK
        x, beside = tile_at + BYTES * (first + k) * wide, tile_at + (BYTES * depth(size) + 8 * block) * wide
        scales = matrix[1] + 4 * (start * blocks + block)
        add_up_eighths(weights + BYTES * k, scales, 4 * blocks, x, beside, wide, stop - start, sums)


@njit(**FAST)
def begin(matrix, start, stop, wide, sums):
    """Sums before anything is added: the bias, or nothing."""
    total, bias = floats(sums), floats(matrix[2])
    for o in range(start, stop):
        first = ZERO if matrix[2] == 0 else bias[o]
        for lane in range((o - start) * wide, (o - start + 1) * wide):
            total[lane] = first


@njit(**FAST)
def multiply_block(matrix, panel, rows, first, size, start, stop, sums):
    """All columns of some outputs, for the tiles of some vectors: weights are read, or written out, once for them."""
    k, written, rounds = 0, weights_room(), ROUNDS and matrix[1] != 0
    while k < size:
        columns = min(DEEP, size - k)
        weights, stride = matrix[0] + 4 * (start * size + k), 4 * size
        if rounds:
            shift_out(matrix, size, start, stop, k, columns, written)
        elif matrix[1] != 0:
            write_out(matrix, size, start, stop, k, columns, written)
            weights, stride = written, 4 * columns
        elif rows - first > FOUR:  # for several tiles
            copy_out(matrix, size, start, stop, k, columns, written)
            weights, stride = written, 4 * columns
        row = first
        while row < min(rows, first + AT_ONCE):
            wide = tile_of(rows - row)
            total = sums + 4 * (row - first) * PART
            if k == 0:
                begin(matrix, start, stop, wide, total)
            if rounds:
                add_up_blocks(matrix, panel, row, wide, size, start, stop, k, columns, written, total)
            else:
                x = panel + 4 * (row * depth(size) + k * wide)
                add_up(weights, stride, x, wide, columns, stop - start, total)
            row += wide
        k += columns


@njit(**FAST)
def multiply_many(matrix, panel, rows, size, start, stop, out, stride, base):
    """out[r, o] = base[r, o] + W[o] · x[r] + b[o], of vectors side by side; base is `out` itself, or 0 for none."""
    sums = sums_room()
    while start < stop:
        end, row = min(stop, start + PART), 0
        for first in range(0, rows, AT_ONCE):
            stop_row = min(rows, first + AT_ONCE)
            multiply_block(matrix, panel, rows, first, size, start, end, sums)
            while row < stop_row:
                wide = tile_of(rows - row)
                here, total, place = (
                    min(wide, rows - row),
                    sums + 4 * (row - first) * PART,
                    out + 4 * (row * stride + start),
                )
                if base == 0:
                    turn_all(total, wide, end - start, here, place, stride)
                else:
                    turn_onto(total, wide, end - start, here, place, stride)
                row += wide
        start = end
