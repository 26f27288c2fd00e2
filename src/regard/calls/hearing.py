"""Who hears how a call goes: nobody, a notebook's display, or the terminal, as on the command line."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from regard.errors import InputError
from regard.listener import SILENT, Listener
from regard.training.events import Event

OnEvent = Callable[[Event], None]


@contextmanager
def training_heard(progress: bool | None, listener: Listener | None) -> Iterator[tuple[Listener, OnEvent]]:
    """Who hears a training: its works, and its events."""
    if not _shown(progress, listener):
        yield listener or SILENT, lambda _: None
    elif in_notebook():
        from regard.calls.notebook import Board

        with Board() as board:
            yield board, board
    else:
        from regard.commands.reporter import Reporter

        with Reporter() as reporter:
            yield reporter, reporter


@contextmanager
def work_heard(progress: bool | None, listener: Listener | None) -> Iterator[Listener]:
    """Who hears any other work."""
    if not _shown(progress, listener):
        yield listener or SILENT
    elif in_notebook():
        from regard.calls.notebook import Board

        with Board(stays=False) as board:
            yield board
    else:
        from regard.commands.shown import Shown

        with Shown() as shown:
            yield shown


def _shown(progress: object, listener: object) -> bool:
    """Whether progress is displayed or printed: not where somebody listens."""
    if listener is not None and not isinstance(listener, Listener):
        raise InputError(f"listener: wanted a regard.Listener, given {type(listener).__name__}")
    if progress is not None and not isinstance(progress, bool):
        raise InputError(f"progress: wanted True, False or None (in a notebook only), given {progress!r}")
    return listener is None and (in_notebook() if progress is None else progress)


def in_notebook() -> bool:
    """Whether what is displayed is seen: only IPython with a kernel can show and change HTML."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
