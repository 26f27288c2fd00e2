"""Workers that take turns: each in a process of its own, never two at once."""

import os
import resource
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, final

from regard.errors import FailedError, InputError, RecipeError
from regard.process import start_worker

if TYPE_CHECKING:
    from regard.process import WorkerProcess

Prepare = Callable[..., Callable[[], Any]]
Tell = Callable[[str], None]


@dataclass
class Turns:
    """What one worker took, turn by turn, in seconds, and the most memory it held, in bytes.

    `work` is what each turn said it had done, in tokens, or 1 where it said nothing.
    """

    name: str
    seconds: list[float] = field(default_factory=list)
    peak: int = 0
    work: list[int] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        """Work per second, turn by turn."""
        return [work / seconds for work, seconds in zip(self.work, self.seconds, strict=True)]

    @property
    def rate(self) -> float:
        """Work per second: the median of the turns."""
        return median(self.rates)

    @property
    def spread(self) -> float:
        """How far apart the turns are: (most − least) / median."""
        return (max(self.seconds) - min(self.seconds)) / median(self.seconds)

    def ratio(self, other: "Turns") -> tuple[float, float, float]:
        """How many times as fast as another worker: the median of the rounds' ratios, the least, the most."""
        ratios = [mine / theirs for mine, theirs in zip(self.rates, other.rates, strict=True)]
        return median(ratios), min(ratios), max(ratios)


class Worker(ABC):
    """Somebody with a name who prepares once and then does a turn of work whenever told to."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def start(self) -> None:
        """Prepare, and return when ready: nobody prepares while another is timed."""

    @abstractmethod
    def turn(self) -> tuple[float, int, int]:
        """Do one turn: seconds it took, bytes held at most so far, tokens done."""

    @abstractmethod
    def stop(self) -> None:
        """End the process, whatever state it is in."""


@final
class ProcessWorker(Worker):
    """Calls `prepare(*arguments)` in a fresh process, and there, turn by turn, what that returned."""

    def __init__(self, name: str, prepare: Prepare, arguments: tuple[Any, ...] = ()) -> None:
        super().__init__(name)
        self._work = (prepare, arguments)
        self._line: Any = None
        self._child: WorkerProcess | None = None

    def start(self) -> None:
        self._child, self._line = start_worker("spawn", _work, self._work, daemon=True)
        self._answer()

    def turn(self) -> tuple[float, int, int]:
        self._line.send("work")
        seconds, peak, work = self._answer()
        return seconds, peak, work

    def stop(self) -> None:
        if self._child is None:
            return
        with suppress(OSError):
            self._line.send("stop")
        self._child.join()

    def _answer(self) -> Any:
        try:
            answer = self._line.recv()
        except EOFError as error:
            raise FailedError(f"{self.name}: its process was ended, most likely for want of memory") from error
        if isinstance(answer, str):
            raise FailedError(f"{self.name}: {answer}")
        return answer


def take_turns(workers: list[Worker], rounds: int, tell: Tell, warm: int = 1) -> list[Turns]:
    """Let all work in turn, round by round, so that drift of the machine cancels out; `warm` rounds are not counted."""
    turns = [Turns(worker.name) for worker in workers]
    try:
        for worker in workers:
            worker.start()
        for number in range(1 - warm, rounds + 1):
            for worker, taken in zip(workers, turns, strict=True):
                seconds, taken.peak, work = worker.turn()
                if number > 0:
                    taken.seconds.append(seconds)
                    taken.work.append(work)
            if number > 0:
                took = ", ".join(f"{taken.name} {taken.seconds[-1]:.2f} s" for taken in turns)
                tell(f"round {number} of {rounds}: {took}")
    finally:
        for worker in workers:
            worker.stop()
    return turns


def _work(line: Any, prepare: Prepare, arguments: tuple[Any, ...]) -> None:
    os.dup2(2, 1)  # what a worker prints must not get into what is written for machines
    try:
        work = prepare(*arguments)
        line.send(None)
        while line.recv() == "work":
            start = time.perf_counter()
            done = work()
            seconds = time.perf_counter() - start
            highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            peak = highest if sys.platform == "darwin" else highest * 1024
            line.send((seconds, peak, done if isinstance(done, int) else 1))
    except (EOFError, KeyboardInterrupt):
        return  # who told us to work is gone, or going
    except (RecipeError, InputError) as error:
        line.send(str(error))
    except Exception as error:
        line.send(f"{type(error).__name__}: {error}")
