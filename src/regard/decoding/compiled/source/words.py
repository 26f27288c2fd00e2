"""What numba has no words for: numbers at an address, counters that threads share, waiting."""

import platform
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

UNCALLED: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Nobody calls these functions but each other."""

EXACT: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "fastmath": {"contract"}, **UNCALLED}
"""For functions whose operations must be done in the order they are written in."""

STRICT: dict[str, Any] = {**EXACT, "fastmath": False}
"""For those whose results must be the same to the bit wherever they are computed: nothing is fused, nor in the kernels
that they call, whose instructions numba would mark, too."""

FAST: dict[str, Any] = {**EXACT, "fastmath": {"contract", "reassoc", "nsz", "arcp"}}
"""Sums may be taken in any order, so that eight numbers are added at once. What is no number stays none."""


def _numbers(kind: types.Type) -> Any:
    """An address becomes a list that can be read and written; nobody knows its length."""

    @intrinsic
    def view(_typing: Any, _address: Any) -> Any:
        def write(context: Any, builder: ir.IRBuilder, signature: Any, given: Any) -> ir.Value:
            return builder.inttoptr(given[0], context.get_value_type(signature.return_type))

        return types.CPointer(kind)(types.int64), write

    return view


floats, whole, wholes = (_numbers(kind) for kind in (types.float32, types.int64, types.int32))
eighths, marks, sixteenths = (_numbers(kind) for kind in (types.int8, types.uint8, types.int16))


@intrinsic
def add_one(_typing: Any, _address: Any) -> Any:
    """One more at an address that other threads count at, too; what stood there before."""

    def write(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
        at = builder.inttoptr(given[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("add", at, ir.Constant(ir.IntType(64), 1), "seq_cst")

    return types.int64(types.int64), write


@intrinsic
def look(_typing: Any, _address: Any) -> Any:
    """What other threads have counted; all that they wrote before is seen after it."""

    def write(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
        at = builder.inttoptr(given[0], ir.IntType(64).as_pointer())
        return builder.load_atomic(at, "acquire", 8, typ=ir.IntType(64))

    return types.int64(types.int64), write


@intrinsic
def pause(_typing: Any) -> Any:
    """Let the other thread of this core go first for a moment."""

    def write(_context: Any, builder: ir.IRBuilder, _signature: Any, _given: Any) -> ir.Value:
        if platform.machine() == "x86_64":
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        return ir.Constant(ir.IntType(64), 0)

    return types.int64(), write


def _same_bits(given: types.Type, wanted: types.Type) -> Any:
    @intrinsic
    def same(_typing: Any, _number: Any) -> Any:
        def write(context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
            return builder.bitcast(given[0], context.get_value_type(wanted))

        return wanted(given), write

    return same


bits_of, float_of = _same_bits(types.float32, types.int32), _same_bits(types.int32, types.float32)

sleep = types.ExternalFunction("usleep", types.int32(types.uint32))
"""So many millionths of a second."""

log = types.ExternalFunction("log", types.float64(types.float64))
"""Of a sum of chances: in double precision, so that its last place in single precision is right."""

ZERO, ONE, TWO, HALF = (np.float32(number) for number in (0, 1, 2, 0.5))


@njit(**FAST)
def copy(x, out, size):
    """x, between addresses."""
    read, written = floats(x), floats(out)
    for i in range(size):
        written[i] = read[i]
