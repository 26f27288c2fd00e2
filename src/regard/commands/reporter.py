"""Training as it happens: one live line on a terminal, now and then a plain line elsewhere."""

import errno
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

from regard.commands.live import Gap, Live, Work
from regard.commands.pace import Pace
from regard.commands.show import console, line, plainly
from regard.commands.streams import is_gone, let_go
from regard.commands.streams import say as tell_errors
from regard.disk.files import json_text
from regard.figures import clock, count, figures, steps
from regard.listener import Listener
from regard.training.events import Ended, Event, Prepared, Started, Step, Validated
from regard.training.stop import Stop

WHY = {"done": "done", "patience": "no better for a while, so ended", "stopped": "stopped"}


class Reporter(Listener):
    """Call it with every event. When nobody reads any more it asks `stop`, as a signal would."""

    def __init__(
        self, as_json: bool = False, silent: bool = False, quiet: bool = False, stop: Stop | None = None
    ) -> None:
        """`quiet` tells of nothing but what went wrong; `silent` of nothing at all (another process talks)."""
        self.as_json, self.silent, self.quiet, self.stop = as_json, silent, quiet, stop
        self._live, self._gap, self._work = Live(), Gap(), Work("")
        self._live.on = self._live.on and not (as_json or silent or quiet)
        self._started: Started | None = None
        self._began, self._alone = time.monotonic(), False
        self._recent: list[Step] = []
        self._pace = Pace()

    def __enter__(self) -> "Reporter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._read():
            self._live.clear()

    def __call__(self, event: Event) -> None:
        with self._read():
            if self.as_json and not self.silent:
                plainly(json_text({"event": type(event).__name__.lower(), **asdict(event)}))
            elif not self.silent and not self.quiet:
                self._tell(event)

    def say(self, text: str) -> None:
        """Something worth a line of its own."""
        with self._read():
            if self.silent:
                return
            if self.as_json:
                plainly(json_text({"event": "said", "text": text}))
            elif self.quiet:
                tell_errors(text)
            else:
                self._line(text, style="yellow")

    def at(self, work: str, done: int = 0, total: int = 0) -> None:
        if self.silent or (self.quiet and not self.as_json):
            return
        new = work != self._work.name
        self._work = Work(work) if new else self._work
        self._work.done, self._work.total = done, total
        self._alone = False
        if self._live.on and (new or self._live.due() or done == total):
            with self._read():
                self._live.show(self._work.forms(self._where()), self._work.share)
        elif not self._live.on and ((new and self._started is None) or self._gap.due()):
            with self._read():
                self._plainly(self._work)

    def starting(self) -> None:
        """On a terminal, before anything is known: libraries take their seconds too."""
        with self._read():
            self._live.show(["starting"])

    @contextmanager
    def _read(self) -> Iterator[None]:
        """Whoever read this may go away; a terminal that hung up under nohup is not waited for."""
        try:
            yield
        except OSError as error:
            if self.stop is None or not is_gone(error):
                raise
            self._live.on = False
            let_go()
            hung_up = error.errno == errno.EIO
            if not (hung_up and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN):
                self.stop.ask(signal.SIGHUP if hung_up else signal.SIGPIPE)

    def _tell(self, event: Event) -> None:
        if isinstance(event, Prepared):
            for split, report in event.splits.items():
                self._line(f"{split}: {report}", style="yellow" if report.left_out else "")
        elif isinstance(event, Started):
            self._start(event)
        elif isinstance(event, Step):
            self._step(event)
        elif isinstance(event, Validated):
            self._pace.validated(event.step)
            self._scores(event)
        elif isinstance(event, Ended) and event.why != "stopped":  # how to go on is said by whoever was stopped
            behind = f"; {event.behind}" if event.behind else ""
            self._line(f"step {event.step:,}  {WHY[event.why]} after {clock(time.monotonic() - self._began)}{behind}")
        self._alone = isinstance(event, Step)

    def _line(self, *parts: str | tuple[str, str], style: str = "") -> None:
        self._live.clear()
        line(*parts, style=style)
        console.file.flush()

    def _plainly(self, work: Work) -> None:
        if self.as_json:
            plainly(json_text({"event": "at", "work": work.name, "done": work.done, "total": work.total}))
        else:
            so_far = f"  {work.done:,}" + (f"/{work.total:,}" if work.total else "") if work.done else ""
            plainly(f"{self._where()}{work.name}{so_far}")

    def _start(self, event: Started) -> None:
        self._started, self._began = event, time.monotonic()
        self._pace = Pace(event.step, event.total)
        began = f"going on at step {event.step:,} of" if event.step else "training for"
        whole = f"{steps(event.total)} ({event.total / max(event.steps_per_epoch, 1):.1f} epochs)"
        self._line(f"{count(event.parameters)} parameters, {began} {whole}, in ", (str(event.folder), "bold"))

    def _step(self, event: Step) -> None:
        assert self._started is not None
        self._recent = [*self._recent[-19:], event]
        self._pace.step(event.number, event.size, event.seconds, self._alone)
        self._work = Work("")
        last = event.number == self._started.total
        if self._live.on and (self._live.due() or last):
            share = None if last else event.number / self._started.total  # a full bar says nothing
            self._live.show(self._forms(event), share)
        elif not self._live.on and (self._gap.due() or last):
            plainly(self._forms(event)[0])

    def _where(self) -> str:
        at = self._recent[-1].number if self._recent else self._started.step if self._started else 0
        return f"step {at:,}/{self._started.total:,}  " if self._started else ""

    def _forms(self, event: Step) -> list[str]:
        predictions = sum(step.predictions for step in self._recent)
        loss = sum(step.loss * step.predictions for step in self._recent) / predictions
        assert self._started is not None
        far, left = f"{event.number:,}/{self._started.total:,}", clock(self._pace.left)
        speed = f"{self._pace.speed:,.0f} {self._started.unit}/s"
        shorter = [f"step {far}  loss {loss:.3f}  {left} left", f"{far}  loss {loss:.3f}  {left} left"]
        return [f"step {far}  loss {loss:.3f}  {speed}  {left} left", *shorter, f"{far}  {loss:.3f}  {left}", far]

    def _scores(self, event: Validated) -> None:
        scores = figures(event.scores)
        if scores:  # else nothing is held out
            best = ("  best so far", "green") if event.best else ""
            behind = (f"; {event.behind}", "yellow") if event.best and event.behind else ""
            self._line(f"step {event.step:,}  validation: {scores}", best, behind)


def stopped(folder: Path, step: int, stop: Stop, to_people: bool = True) -> None:
    """The one line a run leaves that was stopped from outside: wherever anybody can still read it."""
    why = {
        signal.SIGHUP: " by SIGHUP",
        signal.SIGTERM: " by SIGTERM",
        signal.SIGPIPE: ", as nobody reads this any more",
    }
    said = f"Stopped at step {step:,}{why.get(signal.Signals(stop.by or signal.SIGINT), '')}; all is saved. Go on: "
    command = f"regard train {shlex.quote(str(folder))} --resume"
    if to_people and stop.by != signal.SIGPIPE:
        try:
            line(said, (command, "bold"))
            sys.stdout.flush()
        except OSError:
            let_go()
        else:
            return
    tell_errors(said + command)
