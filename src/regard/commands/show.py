"""How figures and tables are shown."""

import errno
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from os import strerror
from typing import Any, NoReturn

from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from regard.commands.rows import rows
from regard.disk.files import json_text
from regard.errors import ORDERS
from regard.figures import is_right


class _Terminal(Console):
    """Rich's console; that nobody reads any more is for the command to judge. No text in it gives orders to the
    terminal, whoever wrote it: names, tokens and sentences come from outside."""

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(segment.text.translate(ORDERS), segment.style)

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError(errno.EPIPE, strerror(errno.EPIPE))


ORDERS_BUT_TABS = {code: blank for code, blank in ORDERS.items() if code != ord("\t")}  # which part what is on a line
console = _Terminal(highlight=False, markup=False, emoji=False)  # a name with brackets is a name


def line(*parts: str | tuple[str, str], style: str = "") -> None:
    """One line as it is: no name in it is read as markup. A part may be (text, style).

    A terminal that is too narrow gets it in rows that end between words; a part with a style (a path, a command) stays
    whole, so that it can be copied.
    """
    said = [_plain(part) for part in parts]
    for row in rows(said, console.width) if console.is_terminal else [said]:
        console.print(Text.assemble(*row, style=style), soft_wrap=True)


def plainly(text: object) -> None:
    """A line for scripts: to the letter in a pipe, without orders on a terminal."""
    said = str(text)
    print(said.translate(ORDERS_BUT_TABS) if sys.stdout.isatty() else said, flush=True)


def _plain(part: str | tuple[str, str]) -> str | tuple[str, str]:
    """Names come from outside: none gives orders to the terminal."""
    return part.translate(ORDERS) if isinstance(part, str) else (part[0].translate(ORDERS), part[1])


@contextmanager
def progress(total: int, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """One live line with time left on a terminal; elsewhere plain lines on standard error, or none."""
    from regard.commands.live import Live, Work

    live, work = Live(), Work("")
    work.total = total

    def tell(said: str) -> None:
        if live.on and not quiet:
            work.name = said
            live.show(work.forms(), work.share)
        elif not quiet:
            print(said, file=sys.stderr, flush=True)
        work.done += 1

    try:
        yield tell
    finally:
        live.clear()


def as_json(value: Any) -> None:
    """For machines: one JSON document on standard output; what is no number there is null."""
    plainly(json_text(asdict(value) if is_dataclass(value) and not isinstance(value, type) else value, indent=2))


def columns(*heads: str, title: str | None = None) -> Table:
    """A light table; columns whose head begins with one space are right-aligned."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in heads:
        table.add_column(head.rstrip(), justify="right" if is_right(head) else "left", overflow="fold")
    return table
