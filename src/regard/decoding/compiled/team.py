"""Threads that help with a step. None is waited for: who comes late finds the work done."""

import atexit
import os
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import torch

from regard.decoding.compiled.machine_code import Code

Work = tuple[Code, int, int, Any]
"""The code, the address of the call's table, that of a thread's own room, and what must live until it is done."""
PATIENCE = 1.0  # seconds, until the process ends all the same


class Team:
    """Helpers of one process, shared by all who take a step; there are as many as are asked for at once.

    The thread that calls takes part itself, and is finished only when all pieces are done; helpers then find none.
    So nothing depends on them, and several callers do not disturb each other.
    """

    def __init__(self) -> None:
        self._lock, self._queue = Lock(), SimpleQueue[Work | None]()
        self._wanted, self._helpers = 0, list[Thread]()

    def run(self, code: Code, call: int, rooms: list[int], kept: Any) -> None:
        """One step by as many threads as there are rooms."""
        helpers = len(rooms) - 1
        if helpers:
            self._hire(helpers)
        for room in rooms[1:]:
            self._queue.put((code, call, room, kept))
        code(call, rooms[0])
        if helpers:
            with self._lock:
                self._wanted -= helpers

    def _hire(self, helpers: int) -> None:
        with self._lock:
            self._wanted += helpers
            for _ in range(len(self._helpers), self._wanted):
                self._helpers.append(Thread(target=self._help, name="regard-step", daemon=True))
                self._helpers[-1].start()

    def _help(self) -> None:
        while (work := self._queue.get()) is not None:
            code, call, room, _kept = work
            code(call, room)
            del work, _kept

    def part(self) -> None:
        """Let all helpers go, before Python ends: one that came back to it then would take the process down."""
        with self._lock:
            leaving, self._helpers = self._helpers, []
        for _ in leaving:
            self._queue.put(None)
        for helper in leaving:
            helper.join(PATIENCE)


TEAM = Team()
atexit.register(TEAM.part)


def _forget() -> None:
    """A process that was forked off has none of its parent's threads."""
    TEAM.__init__()  # type: ignore[misc]


os.register_at_fork(after_in_child=_forget)


def threads() -> int:
    """So many as torch would take here; where batches run side by side, each has its share."""
    return max(1, torch.get_num_threads())
