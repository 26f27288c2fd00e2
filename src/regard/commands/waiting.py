"""Lines as they come: whatever is waiting is answered together, and nobody waits for the next line."""

from collections.abc import Iterator
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

PAUSE = 0.02  # seconds that lines of one burst may be apart

Line = TypeVar("Line")


def waiting(lines: Iterator[Line], most: int) -> Iterator[list[Line]]:
    """Groups of lines: at least one, at most `most`, and never longer in coming than the lines themselves."""
    queue: SimpleQueue[tuple[Line] | BaseException | None] = SimpleQueue()
    Thread(target=_read, args=(lines, queue), daemon=True).start()
    over = False
    while not over:
        group: list[Line] = []
        while len(group) < most and not over:
            try:
                line = queue.get(timeout=PAUSE if group else None)
            except Empty:
                break
            if isinstance(line, tuple):
                group.append(line[0])
                continue
            over = True
            if line is not None:
                if group:
                    yield group
                raise line
        if group:
            yield group


def _read(lines: Iterator[Line], queue: "SimpleQueue[tuple[Line] | BaseException | None]") -> None:
    try:
        for line in lines:
            queue.put((line,))
        queue.put(None)
    except BaseException as error:  # handed on to whoever waits
        queue.put(error)
