"""The innermost loops of packed weights, written in the compiler's own words: a lane is an output.

Weights lie as they are read, a panel of outputs behind the other; rows are read as they stand, one number of each at a
time, which is multiplied by a whole panel. Nothing is turned or added across, and all sums stay in registers: 97 % of
what a core of an AMD EPYC can do in float32.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from regard.decoding.compiled.source.tiles import FLOAT, FLOATS, FUSED, LANES, LONG, call_for, load, spread, store

PANEL = 2 * LANES  # outputs
STEP = 4 * LANES  # bytes of a vector of sums
Sums = list[list[ir.Value]]


def panel(rows: int) -> Any:
    """out[r] = Σ_k x[r, k] · W[k] + b for a panel of outputs and so many rows; all are addresses, strides are bytes.

    From column to column of W there are `apart` bytes; what stands `ahead` of them is called for. Where `onto` is not
    0, it is added to what stands there.
    """

    @intrinsic
    def kernel(
        _typing: Any, _weights: Any, _apart: Any, _ahead: Any, _bias: Any, _x: Any, _line: Any, _size: Any,
        _out: Any, _stride: Any, _onto: Any,
    ) -> Any:  # fmt: skip
        def write(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
            weights, apart, ahead, bias, x, line, size, out, stride, onto = given
            sums = begun(builder, rows, [load(builder, after(builder, bias, v * STEP), FLOATS) for v in (0, 1)])
            lines = [builder.add(x, builder.mul(line, LONG(r))) for r in range(rows)]

            def column(k: ir.Value) -> None:
                place = builder.add(weights, builder.mul(k, apart))
                both = [load(builder, after(builder, place, v * STEP), FLOATS) for v in (0, 1)]
                call_for(builder, builder.add(place, ahead), 2)
                for r in range(rows):
                    number = load(builder, builder.add(lines[r], builder.mul(k, LONG(4))), FLOAT)
                    add(builder, sums[r], spread(builder, number, LANES), both)

            count(builder, size, 4, column)
            finish(builder, sums, out, stride, onto)
            return LONG(0)

        return types.int64(*[types.int64] * 10), write

    return kernel


def after(builder: ir.IRBuilder, address: ir.Value, more: int) -> ir.Value:
    """An address so many bytes on."""
    return builder.add(address, LONG(more))


def begun(builder: ir.IRBuilder, rows: int, first: list[ir.Value]) -> Sums:
    """A place for every sum, the first ones in it."""
    return [[cgutils.alloca_once_value(builder, each) for each in first] for _ in range(rows)]


def add(builder: ir.IRBuilder, sums: list[ir.Value], number: ir.Value, both: list[ir.Value]) -> None:
    """One number times two vectors of weights, onto the sums of a row."""
    for place, weights in zip(sums, both, strict=True):
        product = builder.fmul(number, weights, flags=FUSED)
        builder.store(builder.fadd(product, builder.load(place, typ=FLOATS), flags=FUSED), place)


def count(builder: ir.IRBuilder, size: ir.Value, unrolled: int, each: Callable[[ir.Value], None]) -> None:
    """For all numbers up to a size, several in a go."""
    rounds = builder.udiv(size, LONG(unrolled))
    with cgutils.for_range(builder, rounds) as loop:
        first = builder.mul(loop.index, LONG(unrolled))
        for more in range(unrolled):
            each(after(builder, first, more))
    done = builder.mul(rounds, LONG(unrolled))
    with cgutils.for_range(builder, builder.sub(size, done)) as loop:
        each(builder.add(done, loop.index))


def finish(builder: ir.IRBuilder, sums: Sums, out: ir.Value, stride: ir.Value, onto: ir.Value) -> None:
    """Write all sums, or add them to what stands there."""
    places = [
        after(builder, builder.add(out, builder.mul(stride, LONG(r))), v * STEP)
        for r in range(len(sums))
        for v in (0, 1)
    ]
    held = [place for line in sums for place in line]
    with builder.if_then(builder.icmp_unsigned("!=", onto, LONG(0))):
        for total, place in zip(held, places, strict=True):
            more = builder.fadd(builder.load(total, typ=FLOATS), load(builder, place, FLOATS))
            builder.store(more, total)
    for total, place in zip(held, places, strict=True):
        store(builder, builder.load(total, typ=FLOATS), place)
