"""How fast this machine multiplies matrices: float32 by either library, and bfloat16."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import torch

from regard.matmul import EXACT, FASTER, multiply_with, relative_error

# Rows, inputs and outputs: a step of one text and of a batch, a training batch of a small and of a larger model.
SIZES = ((1, 512, 2048), (32, 512, 2048), (512, 512, 2048), (2048, 2048, 2048))
SECONDS = 0.02


@dataclass(frozen=True)
class ProductSpeed:
    """One product: GFLOP/s by route, and the error of oneDNN in float32 beside that of MKL."""

    rows: int
    inputs: int
    outputs: int
    mkl: float
    onednn: float
    bfloat16: float
    error: float

    @property
    def name(self) -> str:
        return f"{self.rows:,} × {self.inputs:,} × {self.outputs:,}"

    @property
    def library(self) -> str:
        """The one that `training.machine.matmul=auto` takes for such products."""
        return "onednn" if self.onednn >= FASTER * self.mkl and self.error <= EXACT else "mkl"


@torch.no_grad()
def measure_products(repeats: int = 9) -> Iterator[ProductSpeed]:
    """Medians of interleaved rounds, by all threads of torch."""
    generator = torch.Generator().manual_seed(1)
    for rows, inputs, outputs in SIZES:
        x, w = (torch.randn(shape, generator=generator) for shape in ((rows, inputs), (inputs, outputs)))
        routes = {"mkl": (x, w), "onednn": (x, w), "bfloat16": (x.bfloat16(), w.bfloat16())}
        seconds: dict[str, list[float]] = {name: [] for name in routes}
        for name, (left, right) in routes.items():
            with multiply_with("onednn" if name == "onednn" else "mkl"):
                left @ right
        for _ in range(repeats):
            for name, (left, right) in routes.items():
                with multiply_with("onednn" if name == "onednn" else "mkl"):
                    seconds[name].append(_time(left, right))
        speeds = {name: 2e-9 * rows * inputs * outputs / median(taken) for name, taken in seconds.items()}
        error = relative_error("onednn", x, w) / relative_error("mkl", x, w)
        yield ProductSpeed(rows, inputs, outputs, **speeds, error=error)


def _time(left: torch.Tensor, right: torch.Tensor) -> float:
    """Seconds of one product, from as many as take long enough to be timed."""
    start, done = time.perf_counter(), 0
    while done == 0 or time.perf_counter() - start < SECONDS:
        left @ right
        done += 1
    return (time.perf_counter() - start) / done
