"""The innermost loops of many rows, written in the compiler's own words: a lane is a row, and nothing is added across.

Every weight is read once for a tile of rows and multiplied by all of them at once; a tile's sums stay in registers.
"""

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from regard.decoding.compiled.layout import BLOCK, columns_at_once, lanes

HOST = binding.get_host_cpu_features()
TOGETHER = columns_at_once(HOST)  # products of whole numbers are one step for each lane
ROUNDS = TOGETHER > 0
LANES = lanes(HOST)
WIDE = LANES == 16
SQUARE = 8  # numbers on each side of what is turned at once
FLOAT, LONG, SHORT = ir.FloatType(), ir.IntType(64), ir.IntType(32)
FLOATS, EIGHT = ir.VectorType(FLOAT, LANES), ir.VectorType(FLOAT, SQUARE)
WHOLES = ir.VectorType(SHORT, LANES)
FUSED = ("contract",)
SIXTEENTHS = ir.VectorType(ir.IntType(16), 2 * LANES)


def load(builder: ir.IRBuilder, address: ir.Value, kind: ir.Type, align: int = 4) -> ir.Value:
    """What stands at an address."""
    return builder.load(builder.inttoptr(address, kind.as_pointer()), typ=kind, align=align)


def store(builder: ir.IRBuilder, value: ir.Value, address: ir.Value) -> None:
    """Write it there."""
    builder.store(value, builder.inttoptr(address, value.type.as_pointer()), align=4)


def spread(builder: ir.IRBuilder, number: ir.Value, lanes: int) -> ir.Value:
    """One number in every lane."""
    kind = ir.VectorType(number.type, lanes)
    empty = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(empty, number, SHORT(0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(SHORT, lanes), [0] * lanes))


def call_for(builder: ir.IRBuilder, address: ir.Value, near: int = 3) -> None:
    """A line of the memory that will be needed soon: in the nearest cache, or in the one behind it (2)."""
    place = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [place, SHORT, SHORT, SHORT])
    prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(prefetch, [builder.inttoptr(address, place), SHORT(0), SHORT(near), SHORT(1)])


def tile(outputs: int, vectors: int) -> Any:
    """sums[o, r] += Σ_k W[o, k] · x[k, r] for some outputs and `vectors` × LANES rows, all given by addresses.

    Weights have `stride` bytes from output to output; x and sums hold the rows of one tile without a gap.
    """

    @intrinsic
    def kernel(_typing: Any, _weights: Any, _stride: Any, _x: Any, _size: Any, _sums: Any) -> Any:
        def write(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
            weights, stride, x, size, sums = given
            step, places = 4 * LANES, [(o, v) for o in range(outputs) for v in range(vectors)]
            where = [builder.add(sums, LONG((o * vectors + v) * step)) for o, v in places]
            held = [cgutils.alloca_once_value(builder, load(builder, each, FLOATS)) for each in where]
            lines = [builder.add(weights, builder.mul(stride, LONG(o))) for o in range(outputs)]

            def column(k: ir.Value) -> None:
                vector = builder.add(x, builder.mul(k, LONG(vectors * step)))
                read = [load(builder, builder.add(vector, LONG(v * step)), FLOATS) for v in range(vectors)]
                for o in range(outputs):
                    weight = load(builder, builder.add(lines[o], builder.mul(k, LONG(4))), FLOAT)
                    everywhere = spread(builder, weight, LANES)
                    for v in range(vectors):
                        total = builder.load(held[o * vectors + v], typ=FLOATS)
                        product = builder.fmul(everywhere, read[v], flags=FUSED)
                        builder.store(builder.fadd(product, total, flags=FUSED), held[o * vectors + v])

            unrolled = 8 if vectors == 1 else 4
            rounds = builder.udiv(size, LONG(unrolled))
            with cgutils.for_range(builder, rounds) as loop:
                first = builder.mul(loop.index, LONG(unrolled))
                for line in lines:  # the first tile of rows waits for the memory, not for the sums
                    ahead = builder.add(builder.mul(stride, LONG(outputs)), builder.mul(first, LONG(4)))
                    call_for(builder, builder.add(line, ahead))
                for more in range(unrolled):
                    column(builder.add(first, LONG(more)))
            done = builder.mul(rounds, LONG(unrolled))
            with cgutils.for_range(builder, builder.sub(size, done)) as loop:
                column(builder.add(done, loop.index))
            for each, place in zip(held, where, strict=True):
                store(builder, builder.load(each, typ=FLOATS), place)
            return LONG(0)

        return types.int64(*[types.int64] * 5), write

    return kernel


def tile_eighths(outputs: int, vectors: int) -> Any:
    """One block of columns in whole numbers, both sides: sums[o, r] += scale[o] · scale[r] · Σ_k W[o, k] x[k, r].

    Four or two columns of a row follow each other in x, in eight or sixteen bits, as `TOGETHER` says. Where there are
    four, weights are shifted to 0 … 255, as the processor wants one side; `shifts` has what takes that away, for every
    row, then come the rows' scales. `scales` are `apart` bytes.
    """

    @intrinsic
    def kernel(
        _typing: Any, _weights: Any, _stride: Any, _x: Any, _shifts: Any, _scales: Any, _apart: Any, _sums: Any
    ) -> Any:
        def write(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
            weights, stride, x, shifts, scales, apart, sums = given
            step = 4 * LANES
            factors = builder.add(shifts, LONG(vectors * step))
            held = [
                cgutils.alloca_once_value(builder, load(builder, builder.add(shifts, LONG(v * step)), WHOLES))
                for _ in range(outputs)
                for v in range(vectors)
            ]
            lines = [builder.add(weights, builder.mul(stride, LONG(o))) for o in range(outputs)]
            with cgutils.for_range(builder, LONG(BLOCK // TOGETHER)) as loop:
                vector = builder.add(x, builder.mul(loop.index, LONG(vectors * step)))
                read = [load(builder, builder.add(vector, LONG(v * step)), WHOLES) for v in range(vectors)]
                for o in range(outputs):
                    some = load(builder, builder.add(lines[o], builder.mul(loop.index, LONG(4))), SHORT)
                    everywhere = spread(builder, some, LANES)
                    for v in range(vectors):
                        total = builder.load(held[o * vectors + v], typ=WHOLES)
                        builder.store(products(builder, total, everywhere, read[v]), held[o * vectors + v])
            rows = [load(builder, builder.add(factors, LONG(v * step)), FLOATS) for v in range(vectors)]
            for o in range(outputs):
                scale = spread(builder, load(builder, builder.add(scales, builder.mul(apart, LONG(o))), FLOAT), LANES)
                for v in range(vectors):
                    place = builder.add(sums, LONG((o * vectors + v) * step))
                    found = builder.sitofp(builder.load(held[o * vectors + v], typ=WHOLES), FLOATS)
                    product = builder.fmul(found, builder.fmul(scale, rows[v]), flags=FUSED)
                    store(builder, builder.fadd(product, load(builder, place, FLOATS), flags=FUSED), place)
            return LONG(0)

        return types.int64(*[types.int64] * 7), write

    return kernel


def tile_nothing(_outputs: int, _vectors: int) -> Any:
    """In its place where the processor cannot: weights in eight bits are then written out as numbers."""

    @intrinsic
    def kernel(
        _typing: Any, _weights: Any, _stride: Any, _x: Any, _shifts: Any, _scales: Any, _apart: Any, _sums: Any
    ) -> Any:
        return types.int64(*[types.int64] * 7), lambda *_given: LONG(0)

    return kernel


def products(builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, x: ir.Value) -> ir.Value:
    """total + the products of four pairs of eight bits in each lane, or of two of sixteen."""
    if TOGETHER == 4:
        kind = ir.FunctionType(WHOLES, [WHOLES] * 3)
        name = f"llvm.x86.avx512.vpdpbusd.{32 * LANES}"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [total, weights, x])
    kind = ir.FunctionType(WHOLES, [SIXTEENTHS] * 2)
    multiply = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx2.pmadd.wd")
    return builder.add(total, builder.call(multiply, [builder.bitcast(each, SIXTEENTHS) for each in (weights, x)]))


def turning(adds: bool) -> Any:
    """target[j, i] = source[i, j], or += that, for eight by eight numbers; strides are bytes from line to line."""

    @intrinsic
    def square(_typing: Any, _source: Any, _source_stride: Any, _target: Any, _target_stride: Any) -> Any:
        def write(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
            source, source_stride, target, target_stride = given
            froms = [builder.add(source, builder.mul(source_stride, LONG(i))) for i in range(SQUARE)]
            lines = turned(builder, [load(builder, each, EIGHT) for each in froms])
            for i, line in enumerate(lines):
                place = builder.add(target, builder.mul(target_stride, LONG(i)))
                store(builder, builder.fadd(line, load(builder, place, EIGHT)) if adds else line, place)
            return LONG(0)

        return types.int64(*[types.int64] * 4), write

    return square


turn_square, turn_square_onto = turning(False), turning(True)


def turned(builder: ir.IRBuilder, lines: list[ir.Value]) -> list[ir.Value]:
    """Eight vectors of eight as their columns: pairs, then pairs of pairs, then halves change places."""

    def mixed(one: ir.Value, other: ir.Value, places: list[int]) -> ir.Value:
        return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(SHORT, SQUARE), places))

    low, high = [0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]
    pairs = [mixed(lines[i], lines[i + 1], places) for i in range(0, 8, 2) for places in (low, high)]
    low, high = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
    fours = [mixed(pairs[a], pairs[a + 2], places) for a in (0, 1, 4, 5) for places in (low, high)]
    low, high = [0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]
    return [mixed(fours[a], fours[a + 4], places) for places in (low, high) for a in range(4)]


@intrinsic
def largest_of_block(_typing: Any, _address: Any) -> Any:
    """The largest of 64 numbers; what is no number is passed over."""

    def write(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
        def larger(one: ir.Value, other: ir.Value) -> ir.Value:
            return builder.select(builder.fcmp_ordered(">", one, other), one, other)

        kind = ir.VectorType(SHORT, SQUARE)
        parts = [load(builder, builder.add(given[0], LONG(4 * SQUARE * i)), EIGHT) for i in range(8)]
        least = ir.Constant(EIGHT, [float("-inf")] * SQUARE)
        parts = [larger(part, least) for part in parts]
        while len(parts) > 1:
            parts = [larger(one, other) for one, other in zip(parts[::2], parts[1::2], strict=True)]
        for places in ([4, 5, 6, 7, 0, 1, 2, 3], [2, 3, 0, 1, 6, 7, 4, 5], [1, 0, 3, 2, 5, 4, 7, 6]):
            moved = builder.shuffle_vector(parts[0], ir.Constant(EIGHT, ir.Undefined), ir.Constant(kind, places))
            parts[0] = larger(parts[0], moved)
        return builder.extract_element(parts[0], SHORT(0))

    return types.float32(types.int64), write


def room(numbers: int) -> Any:
    """The address of so many numbers that are a function's own, until it ends."""

    @intrinsic
    def take(_typing: Any) -> Any:
        def write(_context: Any, builder: ir.IRBuilder, _signature: Any, _given: Any) -> ir.Value:
            with builder.goto_entry_block():  # numba's own way fills it with zeros, which takes LLVM most of its time
                place = builder.alloca(ir.ArrayType(FLOAT, numbers))
            place.align = 64
            return builder.ptrtoint(place, LONG)

        return types.int64(), write

    return take
