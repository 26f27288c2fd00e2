"""How figures and tables are shown."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

console = Console(highlight=False)


@contextmanager
def progress(total: int, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """One live line with time left on a terminal; elsewhere plain lines on standard error, or none."""
    if not console.is_terminal:
        yield lambda said: None if quiet else print(said, file=sys.stderr, flush=True)
        return
    parts = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeRemainingColumn(),
    )
    with Progress(*parts, console=console, transient=True) as live:
        task = live.add_task("", total=total)
        yield lambda said: live.update(task, advance=1, description=said)


def as_json(value: Any) -> None:
    """For machines: one JSON document on standard output."""
    print(json.dumps(asdict(value) if is_dataclass(value) and not isinstance(value, type) else value, indent=2))


def columns(*heads: str, title: str | None = None) -> Table:
    """A light table; columns whose head begins with one space are right-aligned."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in heads:
        table.add_column(head.rstrip(), justify="right" if head[:1] == " " != head[1:2] else "left", overflow="fold")
    return table


def count(number: int | float) -> str:
    """1234567 → 1.23M"""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.0f}"


def size(number: int | float) -> str:
    """Bytes, in binary units."""
    for unit, letter in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if number >= unit:
            return f"{number / unit:.3g} {letter}"
    return f"{number:.0f} B"
