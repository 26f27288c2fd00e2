"""Rows times packed weights: panel by panel of outputs, some rows at a time."""

from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.eighths import no_panel_eighths, panel_eighths, rounding
from regard.decoding.compiled.source.panels import PANEL, panel
from regard.decoding.compiled.source.tiles import TOGETHER, room
from regard.decoding.compiled.source.words import FAST, STRICT, ZERO, floats

SEVERAL = 4  # rows: fewer read weights as they stand
AT_ONCE = 6  # rows whose sums are held in registers
NEAR = 2**17  # numbers of all rows that stay in the cache from one panel to the next

six, five, four, three, two, one = (panel(rows) for rows in range(6, 0, -1))
eighths = panel_eighths if TOGETHER == 2 else no_panel_eighths
six_pairs, five_pairs, four_pairs, three_pairs, two_pairs, one_pairs = (eighths(n, False) for n in range(6, 0, -1))
six_quads, five_quads, four_quads, three_quads, two_quads, one_quads = (eighths(n, True) for n in range(6, 0, -1))
round_quads = rounding(8, 63.0, 64)
round_eight = rounding(8, 127.0, 0) if TOGETHER == 4 else rounding(16, 127.0, 0)
edge_room, block_room = room(AT_ONCE * PANEL), room(at.BLOCK)


@njit(**FAST)
def blocks_of(size):
    """Blocks of columns, the last of which may not be full."""
    return (size + at.BLOCK - 1) // at.BLOCK


@njit(**STRICT)
def round_rows(matrix, x, rows, size, target):
    """Rows as whole numbers with a scale for every block of columns; scales stand behind all rows."""
    blocks, last, wide = blocks_of(size), block_room(), wide_of(matrix)
    scales = target + wide * rows * blocks * at.BLOCK
    for row in range(rows):
        for block in range(blocks):
            given, number = x + 4 * (row * size + block * at.BLOCK), row * blocks + block
            if (block + 1) * at.BLOCK > size:
                numbers, filled = floats(given), floats(last)
                for k in range(at.BLOCK):
                    filled[k] = numbers[k] if block * at.BLOCK + k < size else ZERO
                given = last
            if matrix[at.BEGINS] != 0:
                round_quads(given, target + wide * at.BLOCK * number, scales + 4 * number)
            else:
                round_eight(given, target + wide * at.BLOCK * number, scales + 4 * number)


@njit(**FAST)
def wide_of(matrix):
    """Bytes of a number of rounded rows."""
    return 1 if TOGETHER == 4 or matrix[at.BEGINS] != 0 else 2


@njit(**FAST)
def by_panels(matrix, rows):
    """Whether rows are multiplied by panels. Those in seven bits always are: nothing else rounds as they do."""
    return matrix[at.PACKED] != 0 and (rows >= SEVERAL or matrix[at.BEGINS] != 0)


@njit(**FAST)
def add_up(weights, apart, ahead, bias, x, line, here, size, out, stride, onto):
    """A panel of outputs for up to six rows in float32; lines of x have so many bytes."""
    if here == 6:
        six(weights, apart, ahead, bias, x, line, size, out, stride, onto)
    elif here == 5:
        five(weights, apart, ahead, bias, x, line, size, out, stride, onto)
    elif here == 4:
        four(weights, apart, ahead, bias, x, line, size, out, stride, onto)
    elif here == 3:
        three(weights, apart, ahead, bias, x, line, size, out, stride, onto)
    elif here == 2:
        two(weights, apart, ahead, bias, x, line, size, out, stride, onto)
    else:
        one(weights, apart, ahead, bias, x, line, size, out, stride, onto)


@njit(**STRICT)
def add_up_pairs(weights, scales, bias, begins, x, line, sizes, apart, here, blocks, out, stride, onto):
    """The same in whole numbers, eight bits in the room of sixteen; lines of rows' scales have `apart` bytes."""
    if here == 6:
        six_pairs(weights, scales, bias, begins, x, line, sizes, apart, blocks, out, stride, onto)
    elif here == 5:
        five_pairs(weights, scales, bias, begins, x, line, sizes, apart, blocks, out, stride, onto)
    elif here == 4:
        four_pairs(weights, scales, bias, begins, x, line, sizes, apart, blocks, out, stride, onto)
    elif here == 3:
        three_pairs(weights, scales, bias, begins, x, line, sizes, apart, blocks, out, stride, onto)
    elif here == 2:
        two_pairs(weights, scales, bias, begins, x, line, sizes, apart, blocks, out, stride, onto)
    else:
        one_pairs(weights, scales, bias, begins, x, line, sizes, apart, blocks, out, stride, onto)


@njit(**STRICT)
def add_up_quads(weights, scales, bias, begins, x, sizes, here, blocks, out, stride, onto):
    """The same in whole numbers, all in seven bits."""
    line, apart = at.BLOCK * blocks, 4 * blocks
    if here == 6:
        six_quads(weights, scales, bias, begins, x, line, sizes, apart, blocks, out, stride, onto)
    elif here == 5:
        five_quads(weights, scales, bias, begins, x, line, sizes, apart, blocks, out, stride, onto)
    elif here == 4:
        four_quads(weights, scales, bias, begins, x, line, sizes, apart, blocks, out, stride, onto)
    elif here == 3:
        three_quads(weights, scales, bias, begins, x, line, sizes, apart, blocks, out, stride, onto)
    elif here == 2:
        two_quads(weights, scales, bias, begins, x, line, sizes, apart, blocks, out, stride, onto)
    else:
        one_quads(weights, scales, bias, begins, x, line, sizes, apart, blocks, out, stride, onto)


@njit(**FAST)
def add_up_rows(matrix, panel_at, x, rows, row, here, size, out, stride, onto):
    """A panel of outputs, the first of which is given, for some rows from `row` on."""
    bias = matrix[at.PACKED + 2] + 4 * panel_at
    if matrix[at.PACKED + 1] == 0:
        weights = matrix[at.PACKED] + 4 * panel_at * size
        given, apart, line = x + 4 * row * size, 4 * PANEL, 4 * size
        add_up(weights, apart, apart * size, bias, given, line, here, size, out, stride, onto)
        return
    blocks, wide = blocks_of(size), wide_of(matrix)
    place, columns = 4 * panel_at * blocks, wide * blocks * at.BLOCK
    weights, scales = matrix[at.PACKED] + panel_at * blocks * at.BLOCK, matrix[at.PACKED + 1] + place
    given, sizes, begins = x + row * columns, x + rows * columns + 4 * row * blocks, matrix[at.BEGINS] + place
    if wide == 1:
        add_up_quads(weights, scales, bias, begins, given, sizes, here, blocks, out, stride, onto)
    else:
        line, apart = 2 * at.BLOCK * blocks, 4 * blocks
        add_up_pairs(weights, scales, bias, begins, given, line, sizes, apart, here, blocks, out, stride, onto)


@njit(**FAST)
def copy_edge(edge, here, panel_at, start, stop, out, stride, onto):
    """Of a panel only the outputs from start to stop."""
    for row in range(here):
        numbers, written = floats(edge + 4 * row * PANEL), floats(out + 4 * row * stride)
        for o in range(max(start, panel_at), min(stop, panel_at + PANEL)):
            before = written[o] if onto != 0 else ZERO
            written[o] = before + numbers[o - panel_at]


@njit(**FAST)
def multiply_packed(matrix, x, rows, size, start, stop, out, stride, onto):
    """out[r, o] = W[o] · x[r] + b[o] for the outputs from start to stop, added to what is there if `onto` is not 0."""
    edge, many = edge_room(), max(8 * AT_ONCE, NEAR // size // AT_ONCE * AT_ONCE)
    for first in range(0, rows, many):
        panel_at, last = start // PANEL * PANEL, min(rows, first + many)
        while panel_at < stop:
            whole, row = panel_at >= start and panel_at + PANEL <= stop, first
            while row < last:
                here, place = min(AT_ONCE, last - row), out + 4 * row * stride
                if whole:
                    add_up_rows(matrix, panel_at, x, rows, row, here, size, place + 4 * panel_at, 4 * stride, onto)
                else:
                    add_up_rows(matrix, panel_at, x, rows, row, here, size, edge, 4 * PANEL, onto * 0)
                    copy_edge(edge, here, panel_at, start, stop, place, stride, onto)
                row += here
            panel_at += PANEL
