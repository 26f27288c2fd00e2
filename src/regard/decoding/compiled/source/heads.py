"""The innermost loops of attention, written in the compiler's own words: four keys, or four values, at once.

Left to itself the compiler adds up the lanes of every key alone, and looks anew for every four values whether they lie
where it writes.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from regard.decoding.compiled.source.tiles import EIGHT, FLOAT, FUSED, LONG, SHORT, SQUARE, load, spread, store


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
