"""Peak memory of one piece of work, each in a fresh process."""

import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from regard.process import start_worker


def peak(prepare: Callable[..., Callable[[], Any]], arguments: tuple[Any, ...], warm: tuple[Any, ...]) -> int:
    """Bytes by which the process grew at its highest while it ran what `prepare(*arguments)` returned.

    A server process has torch loaded and forks one child for each measurement, so that nothing an
    earlier one left behind is counted.
    """
    preload = ["regard.measuring.attention"]
    with _no_script():
        child, receive = start_worker("forkserver", _measure, (prepare, arguments, warm), preload=preload)
    try:
        grown: int = receive.recv()
    except EOFError as error:
        raise MemoryError("the measured process was ended, most likely for want of memory") from error
    finally:
        child.join()
    return grown


@contextmanager
def _no_script() -> Iterator[None]:
    """A new process runs the user's script once more, to find there what it is given: nothing of ours is there."""
    script, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _measure(
    send: Any, prepare: Callable[..., Callable[[], Any]], arguments: tuple[Any, ...], warm: tuple[Any, ...]
) -> None:
    prepare(*warm)()  # what threads and libraries take once and for all is not counted
    run = prepare(*arguments)
    before = _highest()
    run()
    send.send(max(0, _highest() - before))


def _highest() -> int:
    """The most memory this process has held, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
