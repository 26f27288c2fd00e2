"""Batches side by side, a thread each: small products gain little from a second thread, whole batches all of it."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from queue import SimpleQueue

import torch

from regard.decoding.job import Job, Line
from regard.decoding.prefixes import Numbered
from regard.decoding.request import Event
from regard.decoding.runner import Runner

LEAST = 8  # requests: fewer are not shared out among threads, …
LEAST_ROWS = 32  # … nor fewer hypotheses: threads that take a step together read all weights once


def workers(requests: int, hypotheses: int, device: torch.device) -> int:
    """How many batches run side by side: on a CPU one a thread, if there is enough for all."""
    enough = min(requests // LEAST, requests * hypotheses // LEAST_ROWS)
    return max(1, min(torch.get_num_threads(), enough)) if device.type == "cpu" else 1


def alone(job: Job, requests: Sequence[Numbered]) -> Iterator[Event]:
    """All events of one batch."""
    return stepped(Runner(job, job.slots(len(requests))), requests)


def stepped(runner: Line, requests: Sequence[Numbered]) -> Iterator[Event]:
    """All events of one runner, as they come."""
    runner.add(requests)
    while runner.busy:
        yield from runner.step()
    runner.end()


def side_by_side(job: Job, requests: Sequence[Numbered], count: int) -> Iterator[Event]:
    """All events of several batches, as they come. Who works on what does not depend on who is quick."""
    events: SimpleQueue[list[Event] | BaseException | None] = SimpleQueue()
    halt, threads = threading.Event(), torch.get_num_threads()
    stopped = job.stopped
    job = replace(job, stopped=lambda: halt.is_set() or stopped())

    def work(share: Sequence[Numbered]) -> None:
        torch.set_num_threads(threads // count)
        try:
            runner = Runner(job, job.slots(len(share)))
            runner.add(share)
            while runner.busy:
                events.put(runner.step())
            runner.end()
            events.put(None)
        except BaseException as error:
            events.put(error)

    crew = [threading.Thread(target=work, args=(requests[first::count],), daemon=True) for first in range(count)]
    for worker in crew:
        worker.start()
    try:
        working = count
        while working:
            found = events.get()
            if isinstance(found, BaseException):
                raise found
            working -= found is None
            yield from found or ()
    finally:
        halt.set()
        for worker in crew:
            worker.join()
        torch.set_num_threads(threads)
