"""What a command hears while it works: lines on standard error, how far it has come as one live line."""

import sys
from types import TracebackType

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from regard.commands.show import console
from regard.listener import Listener


class Shown(Listener):
    """One live line with time left on a terminal, else nothing; what is worth a line goes to standard error."""

    def __init__(self, quiet: bool = False) -> None:
        """`quiet` shows no progress; what is worth a line is still said on standard error."""
        self.quiet = quiet
        self._live: Progress | None = None
        self._task, self._work = TaskID(0), ""

    def __enter__(self) -> "Shown":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live, self._work = None, ""

    def say(self, text: str) -> None:
        print(text, file=sys.stderr)

    def at(self, work: str, done: int = 0, total: int = 0) -> None:
        if self.quiet or not console.is_terminal:
            return
        if self._live is None:
            parts = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,}/{task.total:,}"))
            self._live = Progress(*parts, TimeRemainingColumn(), console=console, transient=True)
            self._live.start()
        if work != self._work:
            self._work, self._task = work, self._live.add_task(work, total=total or None)
        self._live.update(self._task, completed=done, total=total or None)
