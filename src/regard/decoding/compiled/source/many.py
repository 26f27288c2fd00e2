"""Many vectors times some rows of a matrix: a lane is a vector, so nothing is added across lanes.

Vectors are first laid side by side, tile by tile of as many as go at once: column k of all of them, then column k + 1.
Sums of some outputs are made in a room of their own, and turned into lines of the result when they are whole.
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
    tile,
    tile_eighths,
    tile_nothing,
    turn_square,
    turn_square_onto,
)
from regard.decoding.compiled.source.words import (
    EXACT,
    FAST,
    ONE,
    ZERO,
    bits_of,
    eighths,
    floats,
    marks,
    sixteenths,
    wholes,
)

FEW = 6  # rows: more are laid side by side
DEEP = 128  # columns that are summed up before the next outputs: what they need of all vectors stays near
PART = 48  # outputs whose sums are made together
FOUR, TWO = 4 * LANES, 2 * LANES
AT_ONCE = 128  # vectors, whole tiles of them, for which weights are read once

BYTES = 4 // max(1, TOGETHER)  # of a rounded number: eight bits, or sixteen
LINE = DEEP * BYTES  # of so many rounded weights
LEAST, FINEST = np.float32(1e-30), np.float32(127.0 if TOGETHER == 4 else 32767.0)

sums_room, weights_room, columns_room = room(PART * AT_ONCE), room(PART * DEEP), room(at.BLOCK * FOUR)
four_vectors, two_vectors, one_vector = tile(6, 4 if WIDE else 2), tile(6, 2), tile(12, 1)
four_single, two_single, one_single = tile(1, 4 if WIDE else 2), tile(1, 2), tile(1, 1)


eighths_of = tile_eighths if ROUNDS else tile_nothing
four_eighths, two_eighths, one_eighths = eighths_of(6, 4 if WIDE else 2), eighths_of(6, 2), eighths_of(12, 1)
four_single_eighths, two_single_eighths, one_single_eighths = (
    eighths_of(1, 4 if WIDE else 2), eighths_of(1, 2), eighths_of(1, 1)
)  # fmt: skip


@njit(**FAST)
def tile_of(left):
    """So many vectors, with empty ones among them, go at once where so many are left."""
    if left > TWO and WIDE:
        return FOUR
    return TWO if left > LANES else LANES


@njit(**FAST)
def turn_all(source, source_stride, lines, columns, target, target_stride):
    """target[j, i] = source[i, j]; strides are numbers from line to line."""
    across, down = columns // SQUARE * SQUARE, lines // SQUARE * SQUARE
    for j in range(0, across, SQUARE):
        for i in range(0, down, SQUARE):
            place = source + 4 * (i * source_stride + j)
            turn_square(place, 4 * source_stride, target + 4 * (j * target_stride + i), 4 * target_stride)
    read, written = floats(source), floats(target)
    for i in range(lines):
        for j in range(across if i < down else 0, columns):
            written[j * target_stride + i] = read[i * source_stride + j]


@njit(**FAST)
def turn_onto(source, source_stride, lines, columns, target, target_stride):
    """The same, added to what stands there."""
    across, down = columns // SQUARE * SQUARE, lines // SQUARE * SQUARE
    for j in range(0, across, SQUARE):
        for i in range(0, down, SQUARE):
            place = source + 4 * (i * source_stride + j)
            turn_square_onto(place, 4 * source_stride, target + 4 * (j * target_stride + i), 4 * target_stride)
    read, written = floats(source), floats(target)
    for i in range(lines):
        for j in range(across if i < down else 0, columns):
            written[j * target_stride + i] += read[i * source_stride + j]


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
        if rounds:
            for k in range(0, size, at.BLOCK):
                columns = min(at.BLOCK, size - k)
                fill(part, here, wide, columns, at.BLOCK)
                turn_all(x + 4 * (row * size + k), size, here, columns, part, wide)
                out, beside = place + BYTES * k * wide, place + (BYTES * depth(size) + k // at.BLOCK * 8) * wide
                round_block(part, wide, out, beside)
        else:
            fill(place, here, wide, size, size)
            turn_all(x + 4 * row * size, size, here, size, place, wide)
        row += wide


@njit(**FAST)
def fill(place, here, wide, columns, depth):
    """Zeros where a tile has no vectors, and a block no columns."""
    numbers = floats(place)
    for k in range(columns if here < wide else 0):
        for lane in range(here, wide):
            numbers[k * wide + lane] = ZERO
    for i in range(columns * wide, depth * wide):
        numbers[i] = ZERO


@njit(**EXACT)
def round_pairs(x, scales, wide, pairs):
    """A block of columns in sixteen bits, two of a vector in a row."""
    for k in range(0, at.BLOCK, 2):
        first, second = k * wide, (k + 1) * wide
        for lane in range(wide):
            size = ONE / scales[lane]
            a, b = x[first + lane] * size + SHIFT, x[second + lane] * size + SHIFT
            pairs[k // 2 * wide + lane] = np.int32((bits_of(a) & 65535) | bits_of(b) << 16)


@njit(**EXACT)
def round_block(part, wide, out, beside):
    """A block of columns as whole numbers, four or two of a vector in a row; beside it what takes a shift away, and
    the scale."""
    x, quarters, shifts, scales = floats(part), wholes(out), floats(beside), floats(beside + 4 * wide)
    for lane in range(wide):
        scales[lane] = LEAST
        shifts[lane] = ZERO
    for k in range(at.BLOCK):
        for lane in range(wide):
            size = abs(x[k * wide + lane])
            scales[lane] = size if size > scales[lane] else scales[lane]
            shifts[lane] += x[k * wide + lane] * ZERO  # nothing, or no number: then the scale is none
    for lane in range(wide):
        scales[lane] = scales[lane] / FINEST + shifts[lane]
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


@njit(**FAST)
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
