"""One line at the bottom of a terminal that is written over again and again."""

import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size

from regard.commands.show import console
from regard.figures import clock

OFTEN = 0.1  # seconds between two states of the line
ROOM = 4  # cells left free at the right: a terminal writes ^C there, and no line may break


class Live:
    """The line. Where there is no terminal, or one that cannot go back in its line (TERM=dumb), nothing is shown."""

    def __init__(self, error: bool = False) -> None:
        self._error, self._shown, self._at = error, False, 0.0
        self.on = self._stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")

    @property
    def _stream(self) -> Any:
        return sys.stderr if self._error else sys.stdout

    def due(self) -> bool:
        """Whether it is time for another state of the line: making one costs more than keeping quiet."""
        return self.on and time.monotonic() - self._at >= OFTEN

    def show(self, forms: Sequence[str], share: float | None = None) -> None:
        """The first form that fits, with a bar behind it where there is room for one; call `clear` before printing."""
        if not self.on:
            return
        width = console.width - ROOM
        text = next((form for form in forms if cell_len(form) <= width), forms[-1])
        left = width - cell_len(text) - 2
        if share is not None and left >= 8:
            text += "  " + bar(share, min(left, 40))
        self._at, self._shown = time.monotonic(), True
        self._stream.write(f"\r{set_cell_size(text, min(width, cell_len(text)))}\x1b[K")
        self._stream.flush()

    def clear(self) -> None:
        """Take the line away, so that something else can be written there."""
        if self._shown:
            self._shown, self._at = False, 0.0
            self._stream.write("\r\x1b[K")
            self._stream.flush()


class Gap:
    """When plain lines are due, where no line can be written over: after ten seconds, then less and less often."""

    FIRST, MORE, MOST = 10.0, 10.0, 30.0

    def __init__(self) -> None:
        self._gap, self._last = self.FIRST, time.monotonic()

    def due(self) -> bool:
        """Whether to say something now; the next time is later."""
        now = time.monotonic()
        if now - self._last < self._gap:
            return False
        self._gap, self._last = min(self.MOST, self._gap + self.MORE), now
        return True


def bar(share: float, cells: int) -> str:
    """━━━━────"""
    done = int(min(max(share, 0.0), 1.0) * cells)
    return "━" * done + "─" * (cells - done)


class Work:
    """How far a work has come, in forms of any width."""

    def __init__(self, name: str) -> None:
        self.name, self.done, self.total = name, 0, 0
        self._began = time.monotonic()

    def forms(self, before: str = "") -> list[str]:
        """From the longest to the shortest; without a known end, how long it has taken is shown."""
        spent = time.monotonic() - self._began
        if not self.total:
            so_far = f"  {self.done:,}" if self.done else ""
            return [f"{before}{self.name}{so_far}  {clock(spent)}", f"{self.name}{so_far}", self.name]
        so_far = f"{self.done:,}/{self.total:,}"
        left = f"  {clock(spent / self.done * (self.total - self.done))} left" if self.done and spent > 2 else ""
        return [f"{before}{self.name}  {so_far}{left}", f"{self.name}  {so_far}{left}", f"{self.name}  {so_far}"]

    @property
    def share(self) -> float | None:
        """For the bar; none where the end is not known, and none that stands at its end."""
        return self.done / self.total if self.total and self.done < self.total else None
