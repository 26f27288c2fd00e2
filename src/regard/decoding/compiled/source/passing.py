"""Many rows times weights that stand as they were read: a panel is packed in passing, just before it is multiplied.

So large models are not held twice. A panel is packed once for all rows, as many columns at a time as a cache holds;
while they are multiplied the next ones are called for. Weights in eight bits are packed as pairs of columns, or written
out as numbers where a processor has no products of such pairs.
"""

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.laying import turn_all
from regard.decoding.compiled.source.many import write_out
from regard.decoding.compiled.source.packed import AT_ONCE, add_up, add_up_pairs, blocks_of, copy_edge, edge_room
from regard.decoding.compiled.source.panels import PANEL
from regard.decoding.compiled.source.tiles import LONG, SHORT, TOGETHER, call_for, load, room
from regard.decoding.compiled.source.words import FAST, ZERO, eighths, floats

PASSING, PASSING_EIGHTHS = 64, 32  # rows: for fewer, packing does not pay
DEEP = 768  # columns of a panel that are packed at once, whole blocks of them
LINE = 64  # bytes of memory that come together
EIGHT = 8  # outputs, and pairs of columns, that are turned at once

panel_room, lines_room = room(PANEL * DEEP), room(PANEL * DEEP)
bias_room, scales_room = room(PANEL), room(PANEL * DEEP // at.BLOCK)


@intrinsic
def fetch(_typing: Any, _address: Any) -> Any:
    """A line of memory that will be needed soon."""

    def write(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
        call_for(builder, given[0], 2)
        return LONG(0)

    return types.int64(types.int64), write


@intrinsic
def turn_pairs(_typing: Any, _source: Any, _source_stride: Any, _target: Any, _target_stride: Any) -> Any:
    """target[j, i] = source[i, j] for eight by eight pairs of eight bits; strides are bytes from line to line."""

    def write(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
        source, source_stride, target, target_stride = given
        kind = ir.VectorType(ir.IntType(16), EIGHT)
        lines = [load(builder, builder.add(source, builder.mul(source_stride, LONG(i))), kind, 1) for i in range(EIGHT)]
        for _ in range(3):  # cards of two halves, shuffled three times: lines have become columns
            lines = [_shuffled(builder, lines[i], lines[i + 4], first) for i in range(4) for first in (0, 4)]
        for i, line in enumerate(lines):
            place = builder.add(target, builder.mul(target_stride, LONG(i)))
            builder.store(line, builder.inttoptr(place, kind.as_pointer()), align=1)
        return LONG(0)

    return types.int64(*[types.int64] * 4), write


def _shuffled(builder: ir.IRBuilder, one: ir.Value, other: ir.Value, first: int) -> ir.Value:
    places = [place for i in range(first, first + 4) for place in (i, EIGHT + i)]
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(SHORT, EIGHT), places))


@njit(**FAST)
def passes(matrix, rows):
    """Whether weights are packed in passing."""
    if matrix[1] == 0:
        return matrix[at.PACKED] == 0 and rows >= PASSING
    return matrix[at.PACKED] == 0 and rows >= PASSING_EIGHTHS and TOGETHER != 4


@njit(**FAST)
def deep_of(size):
    """Columns that are packed at once: whole blocks, about as many each time."""
    blocks, times = blocks_of(size), (size + DEEP - 1) // DEEP
    return (blocks + times - 1) // times * at.BLOCK


@njit(**FAST)
def turn_lines(lines, stride, outputs, columns, panel):
    """Some lines of numbers as a panel; outputs that are missing are zeros. A stride counts numbers."""
    wide = PANEL
    turn_all(lines, stride, outputs, columns, panel, wide)
    numbers = floats(panel)
    for k in range(columns if outputs < wide else 0):
        for o in range(outputs, wide):
            numbers[k * wide + o] = ZERO


@njit(**FAST)
def pack_pairs(matrix, size, start, outputs, first, columns, panel, scales):
    """Weights in eight bits, pairs of columns; what fills up a block or a panel is zero. Their scales, too."""
    blocks, weights, here = blocks_of(size), matrix[0] + start * size + first, blocks_of(columns)
    whole = columns // (2 * EIGHT) * 2 * EIGHT if outputs == PANEL else 0
    for o in range(0, PANEL, EIGHT):
        for k in range(0, whole, 2 * EIGHT):
            turn_pairs(weights + o * size + k, size, panel + k * PANEL + 2 * o, 2 * PANEL)
    given, written = eighths(weights), eighths(panel)
    for k in range(whole, here * at.BLOCK):
        for o in range(PANEL):
            known = o < outputs and k < columns
            written[k // 2 * 2 * PANEL + 2 * o + k % 2] = given[o * size + k] if known else 0
    given_scales, written_scales = floats(matrix[1] + 4 * (start * blocks + first // at.BLOCK)), floats(scales)
    for block in range(here):
        for o in range(PANEL):
            written_scales[block * PANEL + o] = given_scales[o * blocks + block] if o < outputs else ZERO


@njit(**FAST)
def pack(matrix, size, start, outputs, first, columns, panel, scales):
    """Some columns of a panel of outputs."""
    if matrix[1] == 0:
        turn_lines(matrix[0] + 4 * (start * size + first), size, outputs, columns, panel)
    elif TOGETHER == 2:
        pack_pairs(matrix, size, start, outputs, first, columns, panel, scales)
    else:
        lines = lines_room()
        write_out(matrix, size, start, start + outputs, first, columns, lines)
        turn_lines(lines, columns, outputs, columns, panel)


@njit(**FAST)
def begin(matrix, start, outputs, first, bias):
    """What sums begin with: the bias, if these are the first columns."""
    given, written = floats(matrix[2]), floats(bias)
    for o in range(PANEL):
        written[o] = given[start + o] if matrix[2] != 0 and first == 0 and o < outputs else ZERO


@njit(**FAST)
def call_next(matrix, size, start, first, columns, part, parts):
    """One of several parts of the weights that are packed next: those columns of a panel's outputs."""
    wide = 4 if matrix[1] == 0 else 1
    place = matrix[0] + wide * (start * size + first)
    for o in range(PANEL * part // parts, PANEL * (part + 1) // parts):
        for byte in range(0, wide * columns, LINE):
            fetch(place + o * wide * size + byte)


@njit(**FAST)
def add_up_passing(matrix, x, rows, row, here, size, first, columns, room, out, stride, onto):
    """A panel of outputs, some columns of which are packed, for up to six rows; `room` has panel, bias and scales."""
    panel, bias, scales = room
    if matrix[1] != 0 and TOGETHER == 2:
        blocks = blocks_of(size)
        line, apart, nothing = 2 * at.BLOCK * blocks, 4 * blocks, matrix[at.BEGINS]
        sizes = x + rows * line + 4 * (row * blocks + first // at.BLOCK)
        given, count = x + row * line + 2 * first, blocks_of(columns)
        add_up_pairs(panel, scales, bias, nothing, given, line, sizes, apart, here, count, out, stride, onto)
    else:
        apart, given = 4 * PANEL, x + 4 * (row * size + first)
        add_up(panel, apart, apart * columns, bias, given, 4 * size, here, columns, out, stride, onto)


@njit(**FAST)
def multiply_passing(matrix, x, rows, size, start, stop, out, stride, onto):
    """out[r, o] = W[o] · x[r] + b[o] for the outputs from start to stop, added to what is there if `onto` is not 0."""
    edge, deep, parts = edge_room(), deep_of(size), (rows + AT_ONCE - 1) // AT_ONCE
    room = panel_room(), bias_room(), scales_room()
    while start < stop:
        outputs = min(PANEL, stop - start)
        for first in range(0, size, deep):
            columns, last = min(deep, size - first), first + deep >= size
            pack(matrix, size, start, outputs, first, columns, room[0], room[2])
            begin(matrix, start, outputs, first, room[1])
            more = onto if first == 0 else out
            for part in range(parts):
                call_next(
                    matrix, size, start + PANEL if last else start, first + deep if not last else 0, deep, part, parts
                )
                row = part * AT_ONCE
                here, place = min(AT_ONCE, rows - row), out + 4 * row * stride
                if outputs == PANEL:
                    place += 4 * start
                    add_up_passing(matrix, x, rows, row, here, size, first, columns, room, place, 4 * stride, more)
                else:
                    add_up_passing(matrix, x, rows, row, here, size, first, columns, room, edge, 4 * PANEL, onto * 0)
                    copy_edge(edge, here, start, start, stop, place, stride, more)
        start += outputs
