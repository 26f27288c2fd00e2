"""How many threads a training computes with: as told, as before, or as many as are worth it here."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import torch

from regard.errors import DivergedError
from regard.listener import SILENT, Listener
from regard.processor import GIVEN, THREADS, cores, free_cores, load_average, thread_limit
from regard.training.learner import Learner

DEFAULT = torch.get_num_threads()
GAIN = 1.15  # times as fast must so many more threads be
TRIES = 3  # steps that are timed with each number of threads, …
SLOW = 2.0  # … unless one thread takes longer than so many seconds: large models gain from threads anyway


@dataclass(frozen=True)
class Threads:
    """A number of threads, and what it was chosen by."""

    count: int
    cores: int
    load: float
    why: str

    def __str__(self) -> str:
        there = "core" if self.cores == 1 else "cores"
        return f"{self.count} on {self.cores} {there} with a load of {self.load:.1f}: {self.why}"

    def facts(self) -> dict[str, Any]:
        """What a run keeps of it."""
        facts = asdict(self)
        return {"threads": facts.pop("count"), **facts}


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """Compute with so many threads within."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def kept_threads(machine: object) -> int | None:
    """What a run has recorded of its threads, if anything."""
    count = machine.get("threads") if isinstance(machine, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else None


def must_measure(learner: Learner) -> bool:
    """Whether `choose_threads` for a new run takes steps to find out."""
    alone = learner.processes.size == 1 and learner.processes.device.type == "cpu"
    machine = learner.settings.machine
    return alone and machine.threads == "auto" and not machine.compile and min(free_cores(), thread_limit()) > 1


def choose_threads(learner: Learner, resumed: bool, kept: int | None, listener: Listener = SILENT) -> Threads:
    """For a run that is new, or resumed and has recorded `kept` threads.

    A resumed run takes as many as before, for with another number sums are rounded in another order.
    """
    asked, most, free = learner.settings.machine.threads, thread_limit(), min(free_cores(), thread_limit())
    limit = f"{THREADS} allows no more" if GIVEN else "there are no more cores"
    if asked != "auto":
        count, why = min(asked, most), "as training.machine.threads says" if asked <= most else limit
        why += f"; {free} may be faster beside other work" if free < count else ""
    elif resumed:
        before = kept or DEFAULT
        count, why = min(before, most), "as this run began"
        if before > most:
            listener.say(f"threads: {limit} than {most}, and this run began with {before}: its last bits may differ")
            why = limit
    elif must_measure(learner):
        count, why = _fastest(learner, free, listener)
    elif learner.processes.device.type != "cpu":
        count, why = min(DEFAULT, most), f"computed on {learner.processes.device.type}"
    elif learner.processes.size > 1:
        count, why = max(1, free // learner.processes.size), "shared out among the processes"
    else:
        count, why = free, limit if free == most else "the other cores are at other work"
    chosen: Threads = learner.processes.share(Threads(count, cores(), round(load_average(), 2), why))
    return chosen


def _fastest(learner: Learner, most: int, listener: Listener) -> tuple[int, str]:
    """Twice as many threads as long as that is worth it."""
    listener.at("timing threads")
    best, seconds, once = 1, 0.0, 0.0
    for count in [*(2**n for n in range(most.bit_length()) if 2**n < most), most]:
        try:
            with use_threads(count):
                took = _step_seconds(learner)
        except DivergedError:  # training itself will come to that, and say so
            break
        if count == 1 and took > SLOW:
            return min(DEFAULT, most), "steps are long enough to share"
        once = once or took
        if count > 1 and seconds / took < GAIN:
            return best, f"{count} are not worth it ({seconds / took:.2g} times as fast)"
        best, seconds = count, took
    return best, f"{once / seconds:.2g} times as fast as one" if seconds else "not measured"


def _step_seconds(learner: Learner) -> float:
    """Of the quickest of a few; the first one makes what the others find."""
    cold = learner.step(0).seconds
    return cold if cold > SLOW else min(learner.step(0).seconds for _ in range(TRIES))
