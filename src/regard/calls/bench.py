"""regard.bench: speed and memory, measured here and now."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from regard.calls.hearing import work_heard
from regard.errors import InputError
from regard.listener import Listener
from regard.markup import table
from regard.measuring.attention import CASES, bench_attention
from regard.measuring.machine import SIZES, measure_products
from regard.measuring.regard_workers import gpt_workers, product_worker
from regard.measuring.sizes import GptShape
from regard.measuring.steps import DECODERS, bench_steps
from regard.measuring.workers import take_turns
from regard.recipe.errors import nearest

What = Literal["attention", "steps", "gpt", "machine"]
Row = dict[str, Any]


@dataclass(frozen=True)
class Measured:
    """What a bench found: a row for every case, all with the same columns."""

    what: str
    rows: list[Row]

    def __str__(self) -> str:
        cells = [list(self.rows[0]), *([_shown(value) for value in row.values()] for row in self.rows)]
        wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(r, wide, strict=True)).rstrip() for r in cells)

    def _repr_html_(self) -> str:
        heads = [f" {name}" if name != "name" else name for name in self.rows[0]]
        return table(heads, [[_shown(value) for value in row.values()] for row in self.rows], f"bench: {self.what}")


def bench(
    what: What = "attention",
    *,
    lengths: Sequence[int] = (),
    kinds: Sequence[str] = (),
    repeats: int = 0,
    progress: bool | None = None,
    listener: Listener | None = None,
) -> Measured:
    """Measure on this machine: every `attention` by length, `steps` after a long past, a `gpt`'s training step, or how
    fast the `machine` multiplies.

    `lengths` are those of the sequence (for `steps` of the past, for `gpt` of the context), `kinds` choose cases of
    `attention` by name, `repeats` is how often each is timed; what is not said is as on the command line.
    """
    if what not in get_args(What):
        raise InputError(f"{what!r}: no such bench{nearest(str(what), get_args(What))}")
    if isinstance(lengths, str) or not isinstance(lengths, Iterable) or not all(map(_whole, lengths := [*lengths])):
        raise InputError(f"lengths: wanted whole numbers of at least 1, given {lengths!r}")
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        raise InputError(f"kinds: wanted names in a list, given {kinds!r}")
    if repeats != 0 and not _whole(repeats):
        raise InputError(f"repeats: wanted a whole number, 0 for as many as usual, given {repeats!r}")
    kinds = list(kinds)
    if kinds and what != "attention":
        raise InputError(f"kinds: only those of attention can be chosen, not of {what}")
    work = {"attention": _attention, "steps": _steps, "gpt": _gpt, "machine": _machine}[what]
    rows = []
    with work_heard(progress, listener) as heard:
        for done, total, row in work(list(lengths), kinds, repeats):
            rows.append(row)
            heard.at(f"measuring {what}", done, total)
    return Measured(what, rows)


def _attention(lengths: list[int], kinds: Sequence[str], repeats: int) -> Iterator[tuple[int, int, Row]]:
    names = [case.name for case in CASES]
    for kind in kinds:
        if kind not in names:
            raise InputError(f"kinds: no case is called {kind!r}{nearest(str(kind), names)}")
    cases = [case for case in CASES if not kinds or case.name in kinds]
    lengths = lengths or [512, 1024, 2048, 4096, 8192, 16384]
    for done, row in enumerate(bench_attention(sorted(lengths), cases=cases, repeats=repeats or 5), 1):
        times = {f"{name}_ms": round(1e3 * row.median(name), 3) for name in ("forward", "both")}
        yield done, len(cases) * len(lengths), {"name": row.name, "length": row.length, **times, "peak_bytes": row.peak}


def _steps(lengths: list[int], _: Sequence[str], repeats: int) -> Iterator[tuple[int, int, Row]]:
    for done, found in enumerate(bench_steps(sorted(lengths) or [100, 1000, 10000], repeats or 60), 1):
        for one in found:
            row = {"name": one.name, "past": one.position, "ms": round(1e3 * one.middle, 3), "memory_bytes": one.nbytes}
            yield done, len(DECODERS), row


def _gpt(lengths: list[int], _: Sequence[str], repeats: int) -> Iterator[tuple[int, int, Row]]:
    lengths = lengths or [256]
    for done, length in enumerate(lengths, 1):
        shape = GptShape(6, 6, 384, length, 16, 65)
        turns = take_turns([*gpt_workers(shape), product_worker()], repeats or 9, lambda _: None, warm=2)
        for taken in turns[:-1]:
            yield done, len(lengths), {"name": taken.name, "length": length, "tokens_per_second": round(taken.rate, 1)}


def _machine(lengths: list[int], _: Sequence[str], repeats: int) -> Iterator[tuple[int, int, Row]]:
    if lengths:
        raise InputError("lengths: products of matrices have none; leave it out")
    for done, one in enumerate(measure_products(repeats or 9), 1):
        speeds = {f"{name}_gflops": round(getattr(one, name), 1) for name in ("mkl", "onednn", "bfloat16")}
        yield done, len(SIZES), {"name": one.name, **speeds, "error": round(one.error, 2), "matmul": one.library}


def _whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number > 0


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else "–" if value is None else str(value)
