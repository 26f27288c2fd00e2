"""The innermost loops of attention, written in the compiler's own words: four keys, or four values, at once.

Left to itself the compiler adds up the lanes of every key alone, looks anew for every four values whether they lie
where it writes, and takes the last scores one by one, which for short sentences are all.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from regard.decoding.compiled.source import functions as exact
from regard.decoding.compiled.source.tiles import (
    EIGHT,
    FLOAT,
    FUSED,
    LONG,
    SHORT,
    SQUARE,
    call_for,
    load,
    spread,
    store,
)

LINE = 64  # bytes of memory that come together
WHOLES = ir.VectorType(SHORT, SQUARE)


def _added(builder: ir.IRBuilder, one: ir.Value, other: ir.Value, places: tuple[list[int], list[int]]) -> ir.Value:
    """The lanes at some places of two vectors plus those at others."""
    kind = ir.VectorType(SHORT, len(places[0]))
    return builder.fadd(*(builder.shuffle_vector(one, other, ir.Constant(kind, each)) for each in places))


@intrinsic
def score_four(
    _typing: Any, _query: Any, _first: Any, _second: Any, _third: Any, _fourth: Any, _width: Any, _out: Any
) -> Any:
    """q · k of four keys, written behind each other; all are addresses, the width is a multiple of eight."""

    def write(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
        query, *keys, width, out = given
        nothing = ir.Constant(EIGHT, [0.0] * SQUARE)
        sums = [cgutils.alloca_once_value(builder, nothing) for _ in keys]
        for place in sums:
            builder.store(nothing, place)
        with cgutils.for_range(builder, builder.udiv(width, LONG(SQUARE))) as loop:
            at = builder.mul(loop.index, LONG(4 * SQUARE))
            asked = load(builder, builder.add(query, at), EIGHT)
            for key, place in zip(keys, sums, strict=True):
                product = builder.fmul(asked, load(builder, builder.add(key, at), EIGHT), flags=FUSED)
                builder.store(builder.fadd(product, builder.load(place, typ=EIGHT), flags=FUSED), place)
        found = [builder.load(place, typ=EIGHT) for place in sums]
        pairs, halves = ([0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15]), ([0, 1, 2, 3], [4, 5, 6, 7])
        fours = ([0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15])
        one, other = _added(builder, found[0], found[1], pairs), _added(builder, found[2], found[3], pairs)
        both = _added(builder, one, other, fours)
        total = _added(builder, both, both, halves)
        store(builder, total, out)
        return LONG(0)

    return types.int64(*[types.int64] * 7), write


@intrinsic
def mix_four(
    _typing: Any, _out: Any, _first: Any, _second: Any, _third: Any, _fourth: Any, _width: Any, _weights: Any
) -> Any:
    """out += Σ w_i v_i of four values, whose weights stand behind each other; a multiple of eight numbers."""

    def write(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
        out, *values, width, weights = given
        shares = [
            spread(builder, load(builder, builder.add(weights, LONG(4 * i)), FLOAT), SQUARE) for i in range(len(values))
        ]
        with cgutils.for_range(builder, builder.udiv(width, LONG(SQUARE))) as loop:
            at = builder.mul(loop.index, LONG(4 * SQUARE))
            total = load(builder, builder.add(out, at), EIGHT)
            for value, share in zip(values, shares, strict=True):
                product = builder.fmul(share, load(builder, builder.add(value, at), EIGHT), flags=FUSED)
                total = builder.fadd(product, total, flags=FUSED)
            store(builder, total, builder.add(out, at))
        return LONG(0)

    return types.int64(*[types.int64] * 7), write


@intrinsic
def call_four(_typing: Any, _first: Any, _second: Any, _third: Any, _fourth: Any, _width: Any) -> Any:
    """Four keys or values that will be needed soon: many rows remember more than the nearest caches hold."""

    def write(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
        *places, width = given
        lines = builder.udiv(builder.add(builder.mul(width, LONG(4)), LONG(LINE - 1)), LONG(LINE))
        with cgutils.for_range(builder, lines) as loop:
            for place in places:
                call_for(builder, builder.add(place, builder.mul(loop.index, LONG(LINE))))
        return LONG(0)

    return types.int64(*[types.int64] * 5), write


@intrinsic
def weigh_eights(_typing: Any, _scores: Any, _count: Any) -> Any:
    """exp(score - the largest) in place of scores whose number is a multiple of eight; given back is their sum.

    Exactly 0 where a score is -∞; where all are, or are no numbers, nothing is taken away.
    """

    def write(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
        scores, count = given
        none, nothing = everywhere(float("-inf")), everywhere(0.0)
        most, total = cgutils.alloca_once_value(builder, none), cgutils.alloca_once_value(builder, nothing)
        builder.store(none, most)
        builder.store(nothing, total)
        eights = builder.udiv(count, LONG(SQUARE))
        with cgutils.for_range(builder, eights) as loop:
            here = load(builder, builder.add(scores, builder.mul(loop.index, LONG(4 * SQUARE))), EIGHT)
            held = builder.load(most, typ=EIGHT)
            builder.store(builder.select(builder.fcmp_ordered(">", here, held), here, held), most)
        lanes = [builder.extract_element(builder.load(most, typ=EIGHT), SHORT(lane)) for lane in range(SQUARE)]
        while len(lanes) > 1:
            lanes = [
                builder.select(builder.fcmp_ordered(">", one, other), one, other)
                for one, other in zip(lanes[::2], lanes[1::2], strict=True)
            ]
        unseen = builder.fcmp_ordered("==", lanes[0], FLOAT(float("-inf")))
        largest = spread(builder, builder.select(unseen, FLOAT(0.0), lanes[0]), SQUARE)
        with cgutils.for_range(builder, eights) as loop:
            place = builder.add(scores, builder.mul(loop.index, LONG(4 * SQUARE)))
            here = load(builder, place, EIGHT)
            weight = _exp(builder, builder.fsub(here, largest))
            weight = builder.select(builder.fcmp_ordered("==", here, none), nothing, weight)
            store(builder, weight, place)
            builder.store(builder.fadd(builder.load(total, typ=EIGHT), weight), total)
        lanes = [builder.extract_element(builder.load(total, typ=EIGHT), SHORT(lane)) for lane in range(SQUARE)]
        while len(lanes) > 1:
            lanes = [builder.fadd(one, other) for one, other in zip(lanes[::2], lanes[1::2], strict=True)]
        return lanes[0]

    return types.float32(types.int64, types.int64), write


def everywhere(number: Any) -> ir.Constant:
    """The same number in eight lanes."""
    return ir.Constant(EIGHT, [float(number)] * SQUARE)


def _exp(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """`functions.exp` of eight numbers."""

    def fused(one: ir.Value, other: ir.Value, more: ir.Value) -> ir.Value:
        return builder.fadd(builder.fmul(one, other, flags=FUSED), more, flags=FUSED)

    least, most = everywhere(exact.LEAST), everywhere(exact.MOST)
    x = builder.select(builder.fcmp_ordered("<", x, least), least, x)
    x = builder.select(builder.fcmp_ordered(">", x, most), most, x)
    shifted = fused(x, everywhere(exact.TO_TWO), everywhere(exact.SHIFT))
    n = builder.fsub(shifted, everywhere(exact.SHIFT), flags=FUSED)  # without a flag it would get others, and be 0
    r = fused(n, everywhere(-exact.LOG_LOW), fused(n, everywhere(-exact.LOG_HIGH), x))
    p = everywhere(exact.A6)
    for factor in (exact.A5, exact.A4, exact.A3, exact.A2, exact.A1):
        p = fused(p, r, everywhere(factor))
    bits = builder.shl(builder.bitcast(shifted, WHOLES), ir.Constant(WHOLES, [23] * SQUARE))
    power = builder.bitcast(builder.add(bits, ir.Constant(WHOLES, [0x3F800000] * SQUARE)), EIGHT)
    grown = builder.fadd(fused(builder.fmul(p, r, flags=FUSED), r, r), everywhere(1.0))
    return builder.fmul(grown, power)
