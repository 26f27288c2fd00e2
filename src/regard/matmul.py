"""Which library multiplies float32 matrices: MKL or oneDNN, decided by measurement.

torch gives float32 products to MKL. `torch.backends.mkldnn.matmul.fp32_precision = "bf16"` permits it to give them to
oneDNN, which may then round the factors to bfloat16. Which library is faster, and whether oneDNN rounds, depends on
the processor: on AMD's with AVX-512 it computes in float32, about twice as fast as MKL; with AMX it does round. So
both speed and error are measured, with matrices of the model at hand, and kept in the cache.
"""

import hashlib
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.disk.cache import cache
from regard.disk.files import json_text, read_json
from regard.disk.write import write
from regard.errors import InputError
from regard.processor import processor_name

Library = Literal["mkl", "onednn"]
LIBRARIES: tuple[Library, ...] = ("mkl", "onednn")
VARIABLE = "REGARD_MATMUL"
# What may be lost in float32 products: bf16 permits oneDNN, ieee leaves them to MKL.
SWITCH: Any = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]

# oneDNN is taken from this speed-up on: less is within what a disturbed machine shows.
FASTER = 1.25
# Two float32 libraries add up in different order; rounding to bfloat16 errs 1,000 times as much.
EXACT = 4.0
ROUNDS = 9
SHAPES = 3
# Multiplications per probed product: well under a millisecond of one core.
WORK = 2**25
ROWS = 512


@dataclass(frozen=True)
class Matmul:
    """A library for float32 products and why it was chosen."""

    library: Library
    speedup: float | None = None
    error: float | None = None

    def __str__(self) -> str:
        if self.speedup is None or self.error is None:
            return self.library
        why = ""
        if self.error > EXACT:
            why = ", but rounds its factors"
        elif 1 < self.speedup < FASTER:
            why = ", too little to change"
        return f"{self.library} (oneDNN is {self.speedup:.2f} times as fast as MKL here{why})"


def choose_matmul(model: nn.Module, wanted: str = "auto", rows: int = ROWS) -> Matmul:
    """The library for a model's products with about so many rows; `auto` measures, once per machine and sizes.

    The environment variable REGARD_MATMUL answers in place of `auto`.
    """
    if wanted == "auto":
        wanted = os.environ.get(VARIABLE) or "auto"
        if wanted not in ("auto", *LIBRARIES):
            raise InputError(f"{VARIABLE}: expected auto, mkl or onednn, got {wanted!r}")
    if wanted != "auto":
        if wanted == "onednn" and not _has_both():
            raise InputError("matmul=onednn: this build of torch has no oneDNN for float32 products; set matmul=mkl")
        return Matmul("onednn" if wanted == "onednn" else "mkl")
    sizes = _largest_sizes(model, rows)
    if not sizes or not _has_both():
        return Matmul("mkl")
    speedup, error = _measured(sizes)
    return Matmul("onednn" if speedup >= FASTER and error <= EXACT else "mkl", speedup, error)


@contextmanager
def multiply_with(library: Library) -> Iterator[None]:
    """Float32 products by a library, in this process, until the block ends."""
    if not _has_both():
        yield
        return
    before = SWITCH.fp32_precision
    SWITCH.fp32_precision = "bf16" if library == "onednn" else "ieee"
    try:
        yield
    finally:
        SWITCH.fp32_precision = before


def describe_processor() -> str:
    """The name of the processor and the highest instruction set that torch uses on it."""
    return f"{processor_name()}, {torch.backends.cpu.get_cpu_capability()}"


def _has_both() -> bool:
    return bool(torch.backends.mkldnn.is_available() and torch.backends.mkl.is_available())


def _largest_sizes(model: nn.Module, rows: int) -> list[tuple[int, int, int]]:
    """Rows, inputs and outputs of the products that take most of the model's time."""
    matrices = [p for p in model.parameters() if p.dim() == 2 and p.dtype == torch.float32]
    shares = Counter[tuple[int, int]]()
    for matrix in matrices:
        shares[matrix.shape[0], matrix.shape[1]] += matrix.numel()
    return [
        (max(1, min(rows, WORK // (outputs * inputs))), inputs, outputs)
        for (outputs, inputs), _ in shares.most_common(SHAPES)
        if outputs > 1 and inputs > 1
    ]


def _measured(sizes: list[tuple[int, int, int]]) -> tuple[float, float]:
    """Speed-up and error of oneDNN beside MKL: as measured before on this machine, or now."""
    lasting = [sizes, describe_processor(), torch.__version__, torch.__config__.show()]
    lasting += sorted(item for item in os.environ.items() if item[0].startswith(("ATEN_CPU", "ONEDNN", "DNNL", "MKL_")))
    file = cache("machine") / f"matmul-{hashlib.blake2b(repr(lasting).encode(), digest_size=12).hexdigest()}.json"
    with suppress(InputError, OSError, KeyError, TypeError, ValueError, OverflowError):
        kept = read_json(file)
        speedup, error = float(kept["speedup"]), float(kept["error"])
        if 0 < speedup < inf and 0 < error < inf:
            return speedup, error
    speedup, error = measure(sizes)
    with suppress(InputError, OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, json_text({"speedup": speedup, "error": error, "processor": describe_processor()}).encode())
    return speedup, error


@torch.no_grad()
def measure(sizes: Iterable[tuple[int, int, int]]) -> tuple[float, float]:
    """How many times as fast and how many times as far from float64 oneDNN is, beside MKL.

    Processor time of one thread, in interleaved rounds: what else the machine does disturbs both alike, and the median
    of the rounds leaves out what disturbs one.
    """
    threads = torch.get_num_threads()
    generator = torch.Generator().manual_seed(1)
    seconds, errors = {library: [0.0] * ROUNDS for library in LIBRARIES}, [1.0]
    torch.set_num_threads(1)
    try:
        for rows, inputs, outputs in sizes:
            shapes = ((rows, inputs), (outputs, inputs), (rows, outputs))
            x, w, g = (torch.randn(shape, generator=generator) for shape in shapes)
            # The way forward, and the two products on the way back.
            products = ((x, w.t()), (g, w), (g.t(), x))
            errors += [relative_error("onednn", *both) / relative_error("mkl", *both) for both in products]
            repeats = max(1, WORK // 8 // (rows * inputs * outputs))
            for place in range(ROUNDS):
                for library in LIBRARIES:
                    with multiply_with(library):
                        seconds[library][place] += _seconds(products, repeats)
    finally:
        torch.set_num_threads(threads)
    ratios = [mkl / onednn for mkl, onednn in zip(seconds["mkl"], seconds["onednn"], strict=True)]
    return median(ratios), max(errors)


def _seconds(products: Iterable[tuple[Tensor, Tensor]], repeats: int) -> float:
    start = time.thread_time()
    for _ in range(repeats):
        for left, right in products:
            left @ right
    return time.thread_time() - start


def relative_error(library: Library, left: Tensor, right: Tensor) -> float:
    """Distance from the product in float64, of its first rows, beside its length."""
    exact = left[:64].double() @ right.double()
    with multiply_with(library):
        product = (left @ right)[:64].double()
    return float((product - exact).norm() / exact.norm().clamp(min=1e-30)) or 1e-12
