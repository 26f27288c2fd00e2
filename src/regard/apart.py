"""Long work of a library that hears no signals, done beside the thread that does."""

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread, current_thread, main_thread
from typing import TypeVar

TICK = 0.2  # seconds between two looks at the work

T = TypeVar("T")
_under_way: set[Thread] = set()


def apart(work: Callable[[], T], tick: Callable[[], None] = lambda: None) -> T:
    """Do work in a thread of its own: while Rust or C works, Python would hear no ^C until it is done.

    `tick` is called a few times a second meanwhile. A signal that raises leaves the thread behind, and whoever ends
    the process must not wait for it: see `left_behind`.
    """
    if current_thread() is not main_thread():  # signals are heard elsewhere anyway
        return work()
    done: SimpleQueue[tuple[T, None] | tuple[None, BaseException]] = SimpleQueue()
    thread = Thread(target=_do, args=(work, done), daemon=True)
    _under_way.add(thread)
    thread.start()
    while True:
        try:
            found, error = done.get(timeout=TICK)
        except Empty:
            tick()
            continue
        thread.join()
        _under_way.discard(thread)
        if error is not None:
            raise error
        return found  # type: ignore[return-value]  # one of the two is there


def left_behind() -> bool:
    """Whether work goes on that nobody waits for any more; Python may not be shut down around it."""
    return any(thread.is_alive() for thread in _under_way)


def _do(work: Callable[[], T], done: "SimpleQueue[tuple[T, None] | tuple[None, BaseException]]") -> None:
    try:
        done.put((work(), None))
    except BaseException as error:  # handed on to whoever waits
        done.put((None, error))
