"""Panels of weights in eight bits, on a processor that multiplies whole numbers two or four at a time (AVX2).

Pairs of columns: rows in eight bits stand in the room of sixteen. Quads: both sides have seven bits, so that the sums
of four products fit into sixteen, and twice as many go at once; rows are shifted to 1 … 127, as the processor
wants one side without a sign, and sums begin with what takes that away.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from regard.decoding.compiled.layout import BLOCK
from regard.decoding.compiled.source.panels import PANEL, STEP, after, begun, count, finish
from regard.decoding.compiled.source.tiles import (
    FLOAT,
    FLOATS,
    FUSED,
    LANES,
    LONG,
    SHORT,
    SIXTEENTHS,
    WHOLES,
    call_for,
    load,
    products,
    spread,
    store,
)

SHIFT = 1.5 * 2**23  # added, it leaves a whole number in the last bits
LEAST = 1e-30  # of a scale
NO_NUMBER = 0x7F800000  # as bits: from here on
PAIRS, QUADS = ir.VectorType(ir.IntType(8), 2 * LANES), ir.VectorType(ir.IntType(8), 4 * LANES)
ONES = ir.Constant(SIXTEENTHS, [1] * 2 * LANES)


def panel_eighths(rows: int, quads: bool) -> Any:
    """out[r] = Σ_blocks scale[r] · scale[o] · Σ_k x[r, k] · W[k] + b for a panel of outputs and so many rows.

    Every block of columns has a scale for each output, a panel's behind each other, and one for each row; `begins` has
    what a block's sums of quads begin with. All are addresses, strides are bytes.
    """

    @intrinsic
    def kernel(
        _typing: Any, _weights: Any, _scales: Any, _bias: Any, _begins: Any, _x: Any, _line: Any, _sizes: Any,
        _apart: Any, _blocks: Any, _out: Any, _stride: Any, _onto: Any,
    ) -> Any:  # fmt: skip
        def write(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
            weights, scales, bias, begins, x, line, sizes, apart, blocks, out, stride, onto = given
            sums = begun(builder, rows, [load(builder, after(builder, bias, v * STEP), FLOATS) for v in (0, 1)])
            found = begun(builder, rows, [ir.Constant(WHOLES, [0] * LANES)] * 2)
            lines = [builder.add(x, builder.mul(line, LONG(r))) for r in range(rows)]
            ahead = builder.mul(blocks, LONG(BLOCK * PANEL)) if quads else None
            with cgutils.for_range(builder, blocks) as loop:
                block = loop.index
                begin_block(builder, found, builder.add(begins, builder.mul(block, LONG(4 * PANEL))), quads)
                here = [builder.add(each, builder.mul(block, LONG(BLOCK if quads else 2 * BLOCK))) for each in lines]
                add_block(builder, found, builder.add(weights, builder.mul(block, LONG(BLOCK * PANEL))), here, ahead)
                place = builder.add(scales, builder.mul(block, LONG(4 * PANEL)))
                both = [load(builder, after(builder, place, v * STEP), FLOATS) for v in (0, 1)]
                for r in range(rows):
                    at = builder.add(sizes, builder.add(builder.mul(apart, LONG(r)), builder.mul(block, LONG(4))))
                    size = spread(builder, load(builder, at, FLOAT), LANES)
                    for v in (0, 1):
                        number = builder.sitofp(builder.load(found[r][v], typ=WHOLES), FLOATS)
                        scaled = builder.fmul(number, builder.fmul(both[v], size), flags=FUSED)
                        total = builder.load(sums[r][v], typ=FLOATS)
                        builder.store(builder.fadd(scaled, total, flags=FUSED), sums[r][v])
            finish(builder, sums, out, stride, onto)
            return LONG(0)

        return types.int64(*[types.int64] * 12), write

    return kernel


def no_panel_eighths(_rows: int, _quads: bool) -> Any:
    """In its place where the processor has other ways, and such weights are not packed."""

    @intrinsic
    def kernel(
        _typing: Any, _weights: Any, _scales: Any, _bias: Any, _begins: Any, _x: Any, _line: Any, _sizes: Any,
        _apart: Any, _blocks: Any, _out: Any, _stride: Any, _onto: Any,
    ) -> Any:  # fmt: skip
        return types.int64(*[types.int64] * 12), lambda *_given: LONG(0)

    return kernel


def begin_block(builder: ir.IRBuilder, sums: Any, begins: ir.Value, quads: bool) -> None:
    """Sums of whole numbers before anything is added."""
    for v in (0, 1):
        nothing = ir.Constant(WHOLES, [0] * LANES)
        first = load(builder, after(builder, begins, v * STEP), WHOLES) if quads else nothing
        for line in sums:
            builder.store(first, line[v])


def add_block(builder: ir.IRBuilder, sums: Any, weights: ir.Value, lines: list[ir.Value], ahead: Any) -> None:
    """A block of columns: eight at a time of quads, whose next panel is so many bytes `ahead`, or two of pairs."""
    quads = ahead is not None
    wide = 8 if quads else 2

    def column(k: ir.Value) -> None:
        place = builder.add(weights, builder.mul(k, LONG(wide * PANEL)))
        read = [after(builder, place, 4 * LANES * part) for part in range(4)]
        for part in (0, 2) if quads else ():
            call_for(builder, builder.add(read[part], ahead), 2)
        for line, total in zip(lines, sums, strict=True):
            at = builder.add(line, builder.mul(k, LONG(wide if quads else 4)))
            some = [
                spread(builder, load(builder, after(builder, at, 4 * part), SHORT), LANES) for part in range(1 + quads)
            ]
            for v in (0, 1):
                before = builder.load(total[v], typ=WHOLES)
                if quads:
                    halves = [unsigned(builder, some[part], read[2 * part + v]) for part in (0, 1)]
                    four = builder.bitcast(builder.add(*halves), WHOLES)
                    now = products(builder, before, builder.bitcast(ONES, WHOLES), four)
                else:
                    now = products(builder, before, some[0], widened(builder, after(builder, place, 2 * LANES * v)))
                builder.store(now, total[v])

    count(builder, LONG(BLOCK // wide), 2, column)


def widened(builder: ir.IRBuilder, address: ir.Value) -> ir.Value:
    """Two columns of a vector of outputs, from eight bits to sixteen."""
    return builder.bitcast(builder.sext(load(builder, address, PAIRS, 1), SIXTEENTHS), WHOLES)


def unsigned(builder: ir.IRBuilder, rows: ir.Value, weights: ir.Value) -> ir.Value:
    """Sums of two products of eight bits, in sixteen; what is multiplied by the weights at an address has no sign."""
    kind = ir.FunctionType(SIXTEENTHS, [QUADS] * 2)
    multiply = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx2.pmadd.ub.sw")
    return builder.call(multiply, [builder.bitcast(rows, QUADS), load(builder, weights, QUADS, 1)])


def rounding(bits: int, finest: float, middle: int) -> Any:
    """A block of numbers as whole ones of so many bits around a middle, and its scale; what is no number has none.

    As bits without their sign, numbers are as large as they are, and all that are none are larger.
    """

    @intrinsic
    def kernel(_typing: Any, _x: Any, _out: Any, _scale: Any) -> Any:
        def write(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
            x, out, scale = given
            read = [load(builder, after(builder, x, 4 * first), FLOATS) for first in range(0, BLOCK, LANES)]
            plain = ir.Constant(WHOLES, [0x7FFFFFFF] * LANES)
            most = largest(builder, [builder.and_(builder.bitcast(each, WHOLES), plain) for each in read])
            real = builder.icmp_signed("<", most, SHORT(NO_NUMBER))
            size = builder.fadd(builder.fdiv(builder.bitcast(most, FLOAT), FLOAT(finest)), FLOAT(LEAST))
            store(builder, builder.select(real, size, FLOAT(float("nan"))), scale)
            factor = spread(builder, builder.fdiv(FLOAT(1.0), size), LANES)
            shift, kind = ir.Constant(FLOATS, [SHIFT + middle] * LANES), ir.VectorType(ir.IntType(bits), LANES)
            for number, each in enumerate(read):
                shifted = builder.fadd(builder.fmul(each, factor), shift)  # to the bit as many rows are rounded
                rounded = builder.trunc(builder.bitcast(shifted, WHOLES), kind)
                place = builder.inttoptr(after(builder, out, bits // 8 * LANES * number), kind.as_pointer())
                builder.store(rounded, place, align=1)
            return LONG(0)

        return types.int64(*[types.int64] * 3), write

    return kernel


def largest(builder: ir.IRBuilder, vectors: list[ir.Value]) -> ir.Value:
    """The largest whole number of all lanes."""
    lanes = LANES
    while len(vectors) > 1:
        vectors = [larger(builder, one, other) for one, other in zip(vectors[::2], vectors[1::2], strict=True)]
    found = vectors[0]
    while lanes > 1:
        lanes //= 2
        places = ir.Constant(ir.VectorType(SHORT, LANES), [(lane + lanes) % LANES for lane in range(LANES)])
        found = larger(builder, found, builder.shuffle_vector(found, found, places))
    return builder.extract_element(found, SHORT(0))


def larger(builder: ir.IRBuilder, one: ir.Value, other: ir.Value) -> ir.Value:
    """The larger whole numbers of two vectors."""
    return builder.select(builder.icmp_signed(">", one, other), one, other)
