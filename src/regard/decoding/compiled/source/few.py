"""A few rows times weights in eight bits as they stand, which are read once for up to four rows.

Rows are rounded as many are, so that a product does not depend on how many rows share it. That is no slower: a block of
columns takes a tenth of the instructions that its conversion to floats would take.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.laying import BYTES
from regard.decoding.compiled.source.tiles import (
    FLOAT,
    FUSED,
    LANES,
    LONG,
    ROUNDS,
    SHORT,
    SIXTEENTHS,
    TOGETHER,
    WHOLES,
    call_for,
    load,
    products,
)
from regard.decoding.compiled.source.vectors import AHEAD, dots
from regard.decoding.compiled.source.words import EXACT, FAST, ZERO, eighths, floats, sixteenths

ALL, HALF = ir.VectorType(ir.IntType(8), at.BLOCK), ir.VectorType(ir.IntType(8), 2 * LANES)
rounded_numbers = eighths if BYTES == 1 else sixteenths


def dots_rounded(rows: int) -> Any:
    """first + Σ_blocks scale · size[r] · Σ_k w[k] · x[r, k] for one output and so many rows, over all whole blocks.

    Rows are `line` bytes apart, and so are their sizes by `apart` bytes; `first` is a number, all others are addresses.
    Blocks are added up as many rows have theirs added: one after another, so that not a bit is different.
    """

    @intrinsic
    def kernel(
        _typing: Any, _first: Any, _weights: Any, _scales: Any, _x: Any, _line: Any, _sizes: Any, _apart: Any,
        _blocks: Any,
    ) -> Any:  # fmt: skip
        def write(context: Any, builder: ir.IRBuilder, signature: Any, given: Any) -> ir.Value:
            first, weights, scales, x, line, sizes, apart, blocks = given
            sums = [cgutils.alloca_once_value(builder, first) for _ in range(rows)]
            with cgutils.for_range(builder, blocks) as loop:
                block = loop.index
                column = builder.mul(block, LONG(at.BLOCK))
                place, here = builder.add(weights, column), builder.add(x, builder.mul(column, LONG(BYTES)))
                call_for(builder, builder.add(place, LONG(AHEAD)))
                lines = [builder.add(here, builder.mul(line, LONG(r))) for r in range(rows)]
                scale = load(builder, builder.add(scales, builder.mul(block, LONG(4))), FLOAT)
                for r, whole in enumerate(_block_sums(builder, place, lines)):
                    size = builder.add(sizes, builder.add(builder.mul(apart, LONG(r)), builder.mul(block, LONG(4))))
                    factor = builder.fmul(scale, load(builder, size, FLOAT))
                    scaled = builder.fmul(builder.sitofp(_across(builder, whole), FLOAT), factor, flags=FUSED)
                    builder.store(builder.fadd(scaled, builder.load(sums[r], typ=FLOAT), flags=FUSED), sums[r])
            return context.make_tuple(builder, signature.return_type, [builder.load(each, typ=FLOAT) for each in sums])

        return types.UniTuple(types.float32, rows)(types.float32, *[types.int64] * 7), write

    return kernel


def _block_sums(builder: ir.IRBuilder, weights: ir.Value, lines: list[ir.Value]) -> list[ir.Value]:
    """Sums of a block's products, some in each lane, for every row."""
    nothing = ir.Constant(WHOLES, [0] * LANES)
    if TOGETHER == 4:  # the processor wants one side without a sign, which the other takes over
        weight = load(builder, weights, ALL, 1)
        none = ir.Constant(ALL, [0] * at.BLOCK)
        negative = builder.icmp_signed("<", weight, none)
        size = builder.bitcast(builder.select(negative, builder.sub(none, weight), weight), WHOLES)
        rows = [load(builder, line, ALL, 1) for line in lines]
        rows = [builder.select(negative, builder.sub(none, row), row) for row in rows]
        return [products(builder, nothing, size, builder.bitcast(row, WHOLES)) for row in rows]
    sums = [nothing] * len(lines)
    for first in range(0, at.BLOCK, 2 * LANES):
        eight = load(builder, builder.add(weights, LONG(first)), HALF, 1)
        weight = builder.bitcast(builder.sext(eight, SIXTEENTHS), WHOLES)
        rows = [load(builder, builder.add(line, LONG(2 * first)), WHOLES) for line in lines]
        sums = [products(builder, total, weight, row) for total, row in zip(sums, rows, strict=True)]
    return sums


def _across(builder: ir.IRBuilder, total: ir.Value) -> ir.Value:
    """The sum of all lanes."""
    lanes = LANES
    while lanes > 1:
        lanes //= 2
        places = [ir.Constant(ir.VectorType(SHORT, lanes), [*range(first, first + lanes)]) for first in (0, lanes)]
        one, other = (builder.shuffle_vector(total, total, each) for each in places)
        total = builder.add(one, other)
    return builder.extract_element(total, SHORT(0))


@njit(**EXACT)
def rest_rounded(total, weights, scales, x, sizes, size, start):
    """One output for one row, over the columns that fill no block, onto the others."""
    weight, number, part, block = eighths(weights), rounded_numbers(x), np.int32(0), start // at.BLOCK
    for k in range(start, size):
        part += np.int32(weight[k]) * np.int32(number[k])
    return np.float32(part) * (floats(scales)[block] * floats(sizes)[block]) + total


@njit(**FAST)
def rest_floats(total, weights, scales, x, size, start):
    """The same where rows are floats that eight bits can hold."""
    weight, number, part = eighths(weights), floats(x), ZERO
    for k in range(start, size):
        part += np.float32(weight[k]) * number[k]
    return part * floats(scales)[start // at.BLOCK] + total


def rounded(rows: int) -> Any:
    """Some outputs for so many rows of whole numbers."""
    kernel = dots_rounded(rows)

    @njit(**EXACT)
    def run(matrix, x, line, sizes, size, start, stop, out, stride, base):
        blocks, whole = (size + at.BLOCK - 1) // at.BLOCK, size // at.BLOCK
        for o in range(start, stop):
            weights, scales = matrix[0] + o * size, matrix[1] + 4 * o * blocks
            bias = floats(matrix[2])[o] if matrix[2] != 0 else ZERO
            sums = kernel(bias, weights, scales, x, line, sizes, 4 * blocks, whole)
            for row in range(rows):
                total, place = sums[row], row * stride + o
                if whole < blocks:
                    its = sizes + 4 * blocks * row
                    total = rest_rounded(total, weights, scales, x + line * row, its, size, whole * at.BLOCK)
                floats(out)[place] = total + floats(base)[place] if base != 0 else total

    return run


def plain(rows: int) -> Any:
    """Some outputs for so many rows of floats, where the processor multiplies no whole numbers."""
    kernel = dots(rows, True)

    @njit(**FAST)
    def run(matrix, x, line, _sizes, size, start, stop, out, stride, base):
        blocks, whole = (size + at.BLOCK - 1) // at.BLOCK, size // at.BLOCK
        for o in range(start, stop):
            weights, scales = matrix[0] + o * size, matrix[1] + 4 * o * blocks
            bias = floats(matrix[2])[o] if matrix[2] != 0 else ZERO
            sums = kernel(weights, scales, x, size)
            for row in range(rows):
                total, place = sums[row] + bias, row * stride + o
                if whole < blocks:
                    total = rest_floats(total, weights, scales, x + line * row, size, whole * at.BLOCK)
                floats(out)[place] = total + floats(base)[place] if base != 0 else total

    return run


product = rounded if ROUNDS else plain
one, two, four = product(1), product(2), product(4)


@njit(**FAST)
def multiply_eighths(matrix, x, rows, size, start, stop, out, stride, base):
    """out[r, o] = base[r, o] + W[o] · x[r] + b[o] for the outputs from start to stop, of rows as `round_rows` or
    `round_floats` leave them; base may be 0, for none."""
    row, blocks = 0, (size + at.BLOCK - 1) // at.BLOCK
    line = BYTES * at.BLOCK * blocks if ROUNDS else 4 * size
    while row < rows:
        given, sizes, written = x + line * row, x + line * rows + 4 * blocks * row, out + 4 * row * stride
        before = base if base == 0 else base + 4 * row * stride
        many = 4 if rows - row >= 4 else 2 if rows - row >= 2 else 1
        if many == 4:
            four(matrix, given, line, sizes, size, start, stop, written, stride, before)
        elif many == 2:
            two(matrix, given, line, sizes, size, start, stop, written, stride, before)
        else:
            one(matrix, given, line, sizes, size, start, stop, written, stride, before)
        row += many
