"""Peers that take turns: each in a process of its own, never two at once."""

import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

Prepare = Callable[..., Callable[[], Any]]


@dataclass(frozen=True)
class Peer:
    """One contender: what prepares its work, and with which arguments."""

    name: str
    prepare: Prepare
    arguments: tuple[Any, ...] = ()


@dataclass
class Turns:
    """What one peer took, turn by turn, in seconds, and the most memory it held, in bytes.

    `work` is what each turn said it had done, in tokens, or 1 where it said nothing.
    """

    name: str
    seconds: list[float] = field(default_factory=list)
    peak: int = 0
    work: list[int] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Work per second: the median of the turns."""
        return median(work / seconds for work, seconds in zip(self.work, self.seconds, strict=True))

    @property
    def spread(self) -> float:
        return (max(self.seconds) - min(self.seconds)) / median(self.seconds)

    def ratio(self, other: "Turns") -> tuple[float, float, float]:
        """How many times as fast as another peer: the median of the rounds' ratios, the least, the most."""
        mine, theirs = (
            [work / seconds for work, seconds in zip(turns.work, turns.seconds, strict=True)] for turns in (self, other)
        )
        ratios = [one / two for one, two in zip(mine, theirs, strict=True)]
        return median(ratios), min(ratios), max(ratios)


def take_turns(peers: list[Peer], rounds: int, tell: Callable[[str], None], warm: int = 2) -> list[Turns]:
    """Let all peers work in turn, round by round, so that drift of the machine cancels out."""
    context = multiprocessing.get_context("spawn")
    lines, children, turns = [], [], [Turns(peer.name) for peer in peers]
    for peer in peers:
        here, there = context.Pipe()
        child = context.Process(target=_work, args=(there, peer), daemon=True)
        child.start()
        there.close()
        lines.append(here)
        children.append(child)
        here.recv()  # ready: nobody prepares while another is timed
    for number in range(rounds + warm):
        for line, turn in zip(lines, turns, strict=True):
            line.send("work")
            seconds, turn.peak, work = line.recv()
            if number >= warm:
                turn.seconds.append(seconds)
                turn.work.append(work)
        if number >= warm:
            tell(
                f"round {number - warm + 1}: "
                + ", ".join(f"{turn.name} {turn.seconds[-1]:.2f} s" for turn in turns[:-1])
            )
    for line, child in zip(lines, children, strict=True):
        line.send("stop")
        child.join()
    return turns


def _work(line: Any, peer: Peer) -> None:
    work = peer.prepare(*peer.arguments)
    line.send("ready")
    while line.recv() == "work":
        start = time.perf_counter()
        done = work()
        seconds = time.perf_counter() - start
        highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak = highest if sys.platform == "darwin" else highest * 1024
        line.send((seconds, peak, done if isinstance(done, int) else 1))
