"""Time and peak memory of every attention against the length of the sequence."""

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from regard.allocator import keep_memory, memory_here
from regard.measuring.memory import peak
from regard.model.attention import LinearAttention, Site
from regard.model.attention.view import View
from regard.model.mask import Mask
from regard.model.menu import MENU


@dataclass(frozen=True)
class Case:
    """One line of the picture: a way of scoring, a pattern, a kernel."""

    name: str
    attention: str
    pattern: str
    kernel: str


@dataclass(frozen=True)
class Setting:
    """What all cases share: causal self-attention of one sequence."""

    heads: int = 8
    width: int = 64
    window: int = 256
    first: int = 16


@dataclass
class Row:
    """What was measured of one case at one length. Seconds, bytes."""

    name: str
    length: int
    forward: list[float] = field(default_factory=list)
    both: list[float] = field(default_factory=list)
    peak: int | None = None

    def median(self, what: str) -> float:
        return statistics.median(self.times(what))

    def spread(self, what: str) -> float:
        times = self.times(what)
        return (max(times) - min(times)) / statistics.median(times)

    def times(self, what: str) -> list[float]:
        return self.forward if what == "forward" else self.both


CASES = (
    Case("additive", "additive", "causal", ""),
    Case("dot naive", "dot", "causal", "naive"),
    Case("dot flash", "dot", "causal", "flash"),
    Case("general naive", "general", "causal", "naive"),
    Case("general flash", "general", "causal", "flash"),
    Case("full naive", "multihead", "causal", "naive"),
    Case("full flash", "multihead", "causal", "flash"),
    Case("window naive", "multihead", "window", "naive"),
    Case("window", "multihead", "window", "flash"),
    Case("local+global naive", "multihead", "local_global", "naive"),
    Case("local+global", "multihead", "local_global", "flash"),
    Case("linear naive", "linear", "causal", "naive"),
    Case("linear", "linear", "causal", "auto"),
)


def prepare(case: Case, setting: Setting, length: int, backward: bool) -> Callable[[], Any]:
    """Queries, keys and values of one sequence, and the work to be measured on them."""
    keep_memory()
    patterns: dict[str, dict[str, Any]] = {
        "window": {"width": setting.window},
        "local_global": {"width": setting.window, "first": setting.first},
    }
    pattern = MENU.order("pattern", {"kind": case.pattern, **patterns.get(case.pattern, {})}, "pattern")
    mask: Mask = pattern.build().mask() & Mask(causal=True)
    options: dict[str, Any] = {"kernel": case.kernel} if case.kernel else {}
    heads = setting.heads if case.attention in ("multihead", "linear") else 1
    if heads > 1:
        options["heads"] = heads
    part = MENU.order("attention", {"kind": case.attention, **options}, "attention")
    attention = part.build(Site(setting.heads * setting.width, None, mask))
    shape = (1, length, heads, setting.heads * setting.width // heads)
    inputs = [torch.randn(shape).transpose(1, 2).requires_grad_(backward) for _ in range(3)]

    def run() -> list[Tensor]:
        queries, keys, values = inputs
        if isinstance(attention, LinearAttention):
            queries, keys = attention.feature.queries(queries), attention.feature.keys(keys)
        with torch.set_grad_enabled(backward):
            out = attention.mix(queries, keys, values, View(mask))
        return list(torch.autograd.grad(out, inputs, torch.ones_like(out))) if backward else [out]

    return run


def bench_attention(
    lengths: Sequence[int] = (512, 1024, 2048, 4096, 8192, 16384),
    *,
    cases: Sequence[Case] = CASES,
    setting: Setting | None = None,
    repeats: int = 5,
    limit: float = 12.0,
    memory: bool = True,
) -> Iterator[Row]:
    """Measure all cases at all lengths, in turn so that a noisy machine is noisy for all.

    A case stops growing when one run at the next length would take longer than `limit` seconds, or
    more memory than a third of the machine's.
    """
    setting = setting or Setting()
    # what writes all weights down would leave the others with cold caches and a torn heap
    groups = [[case for case in cases if _dense(case) is dense] for dense in (False, True)]
    for group in groups:
        last: dict[str, Row] = {}
        for length in lengths:
            going = [case for case in group if _affordable(last.get(case.name), case, setting, length, limit)]
            rows = _timed(going, setting, length, repeats)
            for case in going:
                if memory:
                    rows[case.name].peak = peak(prepare, (case, setting, length, True), (case, setting, 16, True))
                last[case.name] = rows[case.name]
                yield rows[case.name]


def _timed(cases: Sequence[Case], setting: Setting, length: int, repeats: int) -> dict[str, Row]:
    rows = {case.name: Row(case.name, length) for case in cases}
    for what, backward in (("forward", False), ("both", True)):
        works = {case.name: prepare(case, setting, length, backward) for case in cases}
        for turn in range(repeats + 1):
            for name, work in works.items():
                start = time.perf_counter()
                work()
                if turn:  # the first turn warms up
                    rows[name].times(what).append(time.perf_counter() - start)
    return rows


def _dense(case: Case) -> bool:
    return case.kernel in ("", "naive")


def _affordable(last: Row | None, case: Case, setting: Setting, length: int, limit: float) -> bool:
    """Whether the next length is within reach, going by the one before."""
    numbers = 4 * setting.heads * setting.width if case.attention == "additive" else 10 * setting.heads
    if _dense(case) and 4 * numbers * length**2 > memory_here() / 3:
        return False
    if last is None:
        return True
    growth = (length / last.length) ** 2
    return last.length == length or last.median("both") * growth < limit


def exponents(rows: Sequence[Row], what: str) -> list[tuple[int, float]]:
    """By which power of the length a case grew from each length to the next."""
    found = []
    for one, other in pairwise(rows):
        small, large = (_value(row, what) for row in (one, other))
        if small and large:
            found.append((other.length, math.log(large / small) / math.log(other.length / one.length)))
    return found


def _value(row: Row, what: str) -> float:
    return float(row.peak or 0) if what == "peak" else row.median(what)
