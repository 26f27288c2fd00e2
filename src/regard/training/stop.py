"""How training is asked to end, and by what."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from signal import SIGHUP, SIGINT, SIGTERM
from time import monotonic
from types import FrameType
from typing import Any

HEARD = (SIGINT, SIGTERM, SIGHUP)
PATIENCE = 1.0  # seconds that a step may still take once somebody has asked


class Interrupted(KeyboardInterrupt):
    """Ended from outside, at once: by a signal, or because nobody reads any more (SIGPIPE)."""

    def __init__(self, number: int = SIGINT) -> None:
        super().__init__(number)
        self.number = number


@dataclass
class Stop:
    """Somebody wants this to end: asked before every step, of training and of writing a validation."""

    asked: bool = False
    heeded: bool = False
    """Whether there is something to save and somebody who will; before that, to be asked is to be interrupted."""
    by: int = 0
    """The signal that asked first; 0 where it was a call."""
    since: float = 0.0
    """When that was."""
    _old: dict[int, Any] = field(default_factory=dict, repr=False)

    def __call__(self) -> bool:
        return self.asked

    def overdue(self) -> bool:
        """Whether it was asked for so long ago that nobody should wait for the end of a step."""
        return self.asked and monotonic() - self.since > PATIENCE

    @property
    def code(self) -> int:
        """The exit code by convention: 130 for ^C, 143 for SIGTERM, 129 for SIGHUP, 141 for a closed pipe."""
        return 128 + (self.by or SIGINT)

    def ask(self, number: int) -> None:
        """End after this step, or inside a long one, with everything saved; at once while there is nothing to save."""
        if not self.heeded:
            raise Interrupted(number)
        self.since = self.since if self.asked else monotonic()
        self.asked, self.by = True, self.by or number

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """^C, SIGTERM and SIGHUP ask once; a second ^C interrupts at once. What is ignored (nohup) stays ignored."""
        self._old = hear(self._hear)
        try:
            yield
        finally:
            for number, handler in self._old.items():
                signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        together = int(os.environ.get("WORLD_SIZE", "1")) > 1  # torchrun hands on what its processes have heard too
        if self.heeded and not (self.asked and number == SIGINT and not together):
            return self.ask(number)
        if callable(before := self._old.get(number)):
            before(number, frame)
        raise Interrupted(number)


def hear(handler: Any) -> dict[int, Any]:
    """Let signals call a handler, except those that are ignored; gives back who was called before."""
    there = {number: signal.getsignal(number) for number in HEARD}
    return {
        number: signal.signal(number, handler) for number, now in there.items() if now not in (signal.SIG_IGN, None)
    }
