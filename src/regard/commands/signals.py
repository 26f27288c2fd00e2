"""Signals to a command: the first ends it in one line, the next one at once, and none with a trace."""

import os
import signal
import sys
from contextlib import suppress
from threading import current_thread, main_thread
from types import FrameType

from regard.training.stop import Interrupted, hear

NAMES = {signal.SIGINT: "interrupted", signal.SIGTERM: "ended by SIGTERM", signal.SIGHUP: "ended by SIGHUP"}


class Signals:
    """Raises `Interrupted` once, so that what is half made is cleared away; asked again it does not wait for that."""

    def __init__(self) -> None:
        self.ending = False

    def hear(self) -> None:
        """From now on, to the end of the process."""
        if current_thread() is main_thread():
            hear(self._heard)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.ending or _importing():
            with suppress(OSError):
                os.write(2, b"" if self.ending else f"regard: {NAMES[signal.Signals(number)]}\n".encode())
            os._exit(128 + number)
        self.ending = True
        raise Interrupted(number)


def _importing() -> bool:
    """Whether torch is being imported: its own code takes an exception for its end, or swallows it. Nothing is half
    made yet."""
    spec = getattr(sys.modules.get("torch"), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))
