"""The innermost loop, written in the compiler's own words: eight numbers at once, several sums side by side.

Weights are read as they lie in memory, one row behind the other: a processor foresees one long stream, and not several
short ones (28 GB/s instead of 15 in eight bits, 56 instead of 27 in float32, two cores of an AMD EPYC). Left to itself
the compiler adds up the eight lanes after every block of weights that has a scale; here they are added up once, at the
end of a row.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from regard.decoding.compiled import layout as at

LANES = 8
LINE = 64  # bytes of memory that come together
AHEAD = 512  # bytes: so far ahead weights are called for, also where a page ends and nothing is foreseen
FLOATS, BYTES = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(ir.IntType(8), LANES)
LONG, SHORT = ir.IntType(64), ir.IntType(32)
FUSED = ("contract",)


def dots(rows: int, eighths: bool) -> Any:
    """Sums over all whole blocks of columns of one row of weights and some vectors, W · x[r].

    Vectors follow each other; all are addresses. Given back is a sum for each vector.
    """

    @intrinsic
    def kernel(_typing: Any, _weights: Any, _scales: Any, _x: Any, _size: Any) -> Any:
        def write(context: Any, builder: ir.IRBuilder, signature: Any, given: Any) -> ir.Value:
            loop = _Loop(builder, given, rows)
            sums = loop.eighths() if eighths else loop.floats()
            return context.make_tuple(builder, signature.return_type, sums)

        return types.UniTuple(types.float32, rows)(*[types.int64] * 4), write

    return kernel


class _Loop:
    """One loop over blocks, while it is written."""

    def __init__(self, builder: ir.IRBuilder, given: Any, rows: int) -> None:
        self.builder, self.rows = builder, rows
        self.weights, self.scales, self.x, self.size = given
        self.blocks = builder.udiv(self.size, LONG(at.BLOCK))
        zero = ir.Constant(FLOATS, [0.0] * LANES)
        self.sums = [cgutils.alloca_once_value(builder, zero) for _ in range(rows)]

    def floats(self) -> list[ir.Value]:
        """Weights in float32."""
        with self._each_block() as block:
            totals: list[Any] = [self.builder.load(each, typ=FLOATS) for each in self.sums]
            for first in range(0, at.BLOCK, LANES):
                column = self._column(block, first)
                weights = self._floats(self.weights, 0, column)
                if first * 4 % LINE == 0:
                    self._call_for(self.builder.mul(column, LONG(4)))
                self._add(totals, column, weights)
            self._keep(totals)
        return [self._across(each) for each in self.sums]

    def eighths(self) -> list[ir.Value]:
        """Weights in eight bits: what a block comes to is multiplied by its scale."""
        with self._each_block() as block:
            parts: list[Any] = [None] * len(self.sums)
            self._call_for(self.builder.mul(block, LONG(at.BLOCK)))
            for first in range(0, at.BLOCK, LANES):
                column = self._column(block, first)
                eight = self._load(self.builder.add(self.weights, column), BYTES, 1)
                self._add(parts, column, self.builder.sitofp(eight, FLOATS))
            scale = self._spread(self.builder.add(self.scales, self.builder.mul(block, LONG(4))))
            totals = [self.builder.load(each, typ=FLOATS) for each in self.sums]
            self._keep([self._fused(part, scale, total) for part, total in zip(parts, totals, strict=True)])
        return [self._across(each) for each in self.sums]

    def _column(self, block: ir.Value, first: int) -> ir.Value:
        return self.builder.add(self.builder.mul(block, LONG(at.BLOCK)), LONG(first))

    def _spread(self, address: ir.Value) -> ir.Value:
        """One number in all lanes."""
        empty = ir.Constant(FLOATS, ir.Undefined)
        one = self.builder.insert_element(empty, self._load(address, ir.FloatType(), 4), SHORT(0))
        return self.builder.shuffle_vector(one, empty, ir.Constant(ir.VectorType(SHORT, LANES), [0] * LANES))

    def _call_for(self, place: ir.Value) -> None:
        """Weights that will be needed soon, from the memory."""
        ahead = self.builder.add(self.weights, self.builder.add(place, LONG(AHEAD)))
        address = self.builder.inttoptr(ahead, ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), SHORT, SHORT, SHORT])
        prefetch = cgutils.get_or_insert_function(self.builder.module, kind, "llvm.prefetch.p0")
        self.builder.call(prefetch, [address, SHORT(0), SHORT(3), SHORT(1)])

    @contextmanager
    def _each_block(self) -> Iterator[ir.Value]:
        with cgutils.for_range(self.builder, self.blocks) as loop:
            yield loop.index

    def _floats(self, first: ir.Value, row: int, column: ir.Value) -> ir.Value:
        place = self.builder.add(self.builder.mul(self.size, LONG(row)), column)
        return self._load(self.builder.add(first, self.builder.mul(place, LONG(4))), FLOATS, 4)

    def _load(self, address: ir.Value, kind: ir.Type, align: int) -> ir.Value:
        return self.builder.load(self.builder.inttoptr(address, kind.as_pointer()), typ=kind, align=align)

    def _add(self, totals: "list[Any]", column: ir.Value, weights: ir.Value) -> None:
        """Weights times all vectors."""
        for row in range(self.rows):
            totals[row] = self._fused(weights, self._floats(self.x, row, column), totals[row])

    def _fused(self, one: ir.Value, other: ir.Value, total: ir.Value | None) -> ir.Value:
        product = self.builder.fmul(one, other, flags=FUSED)
        return product if total is None else self.builder.fadd(product, total, flags=FUSED)

    def _keep(self, totals: list[ir.Value]) -> None:
        for place, total in zip(self.sums, totals, strict=True):
            self.builder.store(total, place)

    def _across(self, place: ir.Value) -> ir.Value:
        """The sum of all lanes."""
        total = self.builder.load(place, typ=FLOATS)
        lanes = [self.builder.extract_element(total, SHORT(lane)) for lane in range(LANES)]
        while len(lanes) > 1:
            lanes = [self.builder.fadd(one, other) for one, other in zip(lanes[::2], lanes[1::2], strict=True)]
        return lanes[0]
