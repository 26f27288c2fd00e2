"""How training is asked to end."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Stop:
    """Somebody wants this to end: asked before every step, of training and of writing a validation."""

    asked: bool = False
    heeded: bool = False

    def __call__(self) -> bool:
        return self.asked

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """^C and SIGTERM ask once; asked twice, ^C interrupts at once, as both do while nobody heeds them."""
        old = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if not self.heeded or (self.asked and number == signal.SIGINT):
            raise KeyboardInterrupt
        self.asked = True
