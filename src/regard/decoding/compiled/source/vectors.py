"""The innermost loop, written in the compiler's own words: eight numbers at once, several sums side by side.

Left to itself the compiler adds up the eight lanes after every block of weights that has a scale; here they are added
up once, at the end of a row.
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
AHEAD = 2  # groups of outputs: so far ahead weights are called for, as one row is too short to be foreseen
FLOATS, BYTES = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(ir.IntType(8), LANES)
LONG, SHORT = ir.IntType(64), ir.IntType(32)
FUSED = ("contract",)


def dots(outputs: int, rows: int, eighths: bool) -> Any:
    """Sums over all whole blocks of columns, for some outputs and rows: W[o] · x[r].

    Weights follow each other, row by row, and so do vectors; all are addresses. Given back are outputs × rows sums.
    """

    @intrinsic
    def kernel(_typing: Any, _weights: Any, _scales: Any, _x: Any, _size: Any) -> Any:
        def write(context: Any, builder: ir.IRBuilder, signature: Any, given: Any) -> ir.Value:
            sums = (
                _Loop(builder, given, outputs, rows).eighths()
                if eighths
                else _Loop(builder, given, outputs, rows).floats()
            )
            return context.make_tuple(builder, signature.return_type, sums)

        return types.UniTuple(types.float32, outputs * rows)(*[types.int64] * 4), write

    return kernel


class _Loop:
    """One loop over blocks, while it is written."""

    def __init__(self, builder: ir.IRBuilder, given: Any, outputs: int, rows: int) -> None:
        self.builder, self.outputs, self.rows = builder, outputs, rows
        self.weights, self.scales, self.x, self.size = given
        self.blocks = builder.udiv(self.size, LONG(at.BLOCK))
        self.all_blocks = builder.udiv(builder.add(self.size, LONG(at.BLOCK - 1)), LONG(at.BLOCK))
        zero = ir.Constant(FLOATS, [0.0] * LANES)
        self.sums = [cgutils.alloca_once_value(builder, zero) for _ in range(outputs * rows)]

    def floats(self) -> list[ir.Value]:
        """Weights in float32."""
        with self._each_block() as block:
            totals = [self.builder.load(each, typ=FLOATS) for each in self.sums]
            for first in range(0, at.BLOCK, LANES):
                column = self.builder.add(self.builder.mul(block, LONG(at.BLOCK)), LONG(first))
                vectors = [self._floats(self.x, row, column) for row in range(self.rows)]
                for output in range(self.outputs):
                    weights = self._floats(self.weights, output, column)
                    if first * 4 % LINE == 0:
                        self._call_for(output, column, 4)
                    self._add(totals, output, weights, vectors)
            self._keep(totals)
        return [self._across(each) for each in self.sums]

    def eighths(self) -> list[ir.Value]:
        """Weights in eight bits: what a block comes to is multiplied by its scale."""
        with self._each_block() as block:
            parts: list[ir.Value | None] = [None] * (self.outputs * self.rows)
            for first in range(0, at.BLOCK, LANES):
                column = self.builder.add(self.builder.mul(block, LONG(at.BLOCK)), LONG(first))
                vectors = [self._floats(self.x, row, column) for row in range(self.rows)]
                for output in range(self.outputs):
                    place = self.builder.add(self.weights, self.builder.mul(self.size, LONG(output)))
                    eight = self._load(self.builder.add(place, column), BYTES, 1)
                    if first % LINE == 0:
                        self._call_for(output, column, 1)
                    self._add(parts, output, self.builder.sitofp(eight, FLOATS), vectors)
            self._scale(parts, block)
        return [self._across(each) for each in self.sums]

    def _scale(self, parts: "list[ir.Value | None]", block: ir.Value) -> None:
        totals = [self.builder.load(each, typ=FLOATS) for each in self.sums]
        for output in range(self.outputs):
            place = self.builder.add(self.builder.mul(self.all_blocks, LONG(output)), block)
            address = self.builder.add(self.scales, self.builder.mul(place, LONG(4)))
            scale = self._load(address, ir.FloatType(), 4)
            empty = ir.Constant(FLOATS, ir.Undefined)
            spread = self.builder.insert_element(empty, scale, SHORT(0))
            spread = self.builder.shuffle_vector(spread, empty, ir.Constant(ir.VectorType(SHORT, LANES), [0] * LANES))
            here = slice(output * self.rows, (output + 1) * self.rows)
            totals[here] = [
                self._fused(part, spread, total) for part, total in zip(parts[here], totals[here], strict=True)
            ]
        self._keep(totals)

    def _call_for(self, output: int, column: ir.Value, wide: int) -> None:
        """Weights that will be needed soon, from the memory."""
        row = self.builder.mul(self.size, LONG(output + AHEAD * self.outputs))
        place = self.builder.mul(self.builder.add(row, column), LONG(wide))
        address = self.builder.inttoptr(self.builder.add(self.weights, place), ir.IntType(8).as_pointer())
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

    def _add(self, totals: "list[Any]", output: int, weights: ir.Value, vectors: list[ir.Value]) -> None:
        for row, vector in enumerate(vectors):
            place = output * self.rows + row
            totals[place] = self._fused(weights, vector, totals[place])

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
