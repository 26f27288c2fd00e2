"""What a command hears while it works: lines on standard error, how far it has come as one live line."""

from types import TracebackType

from regard.commands.live import Live, Work
from regard.commands.streams import say
from regard.listener import Listener


class Shown(Listener):
    """One live line with time left on a terminal, else nothing; what is worth a line goes to standard error."""

    def __init__(self, quiet: bool = False) -> None:
        """`quiet` shows no progress; what is worth a line is still said on standard error."""
        self.quiet = quiet
        self._live, self._work = Live(error=True), Work("")

    def __enter__(self) -> "Shown":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def clear(self) -> None:
        """Take the live line away: something else is going to be printed."""
        self._live.clear()

    def say(self, text: str) -> None:
        self._live.clear()
        say(text)

    def at(self, work: str, done: int = 0, total: int = 0) -> None:
        if self.quiet or not self._live.on:
            return
        new = work != self._work.name
        if new:
            self._work = Work(work)
        self._work.done, self._work.total = done, total
        if new or self._live.due() or done == total:
            self._live.show(self._work.forms(), self._work.share)
