"""Training as it happens: one live line on a terminal, now and then a plain line elsewhere."""

import json
import sys
import time
from dataclasses import asdict
from types import TracebackType

from rich.progress import BarColumn, Progress, TaskID, TextColumn

from regard.commands.show import console, count
from regard.listener import Listener
from regard.training.events import Ended, Event, Prepared, Started, Step, Validated

PLAIN_EVERY = 10.0  # seconds between plain lines


class Reporter(Listener):
    """Call it with every event."""

    def __init__(self, as_json: bool = False, silent: bool = False, quiet: bool = False) -> None:
        """`quiet` tells of nothing but what went wrong; `silent` of nothing at all (another process talks)."""
        self.as_json, self.silent, self.quiet = as_json, silent, quiet
        self._live: Progress | None = None
        self._task = TaskID(0)
        self._total, self._first, self._unit = 0, 0, ""
        self._began = self._spoke = time.monotonic()
        self._recent: list[Step] = []
        self._work = ""

    def __enter__(self) -> "Reporter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, event: Event) -> None:
        if self.silent or (self.quiet and not self.as_json):
            return
        if self.as_json:
            facts = {key: str(value) if key == "folder" else value for key, value in asdict(event).items()}
            print(json.dumps({"event": type(event).__name__.lower(), **facts}), flush=True)
        elif isinstance(event, Prepared):
            for split, report in event.splits.items():
                self.say(f"{split}: {report}") if report.left_out else console.print(f"{split}: {report}")
        elif isinstance(event, Started):
            self._start(event)
        elif isinstance(event, Step):
            self._step(event)
        elif isinstance(event, Validated):
            self._scores(event)
        elif isinstance(event, Ended):
            self._end(event)

    def say(self, text: str) -> None:
        """Something worth a line of its own."""
        if (self.as_json or self.quiet) and not self.silent:
            print(text, file=sys.stderr)
        elif not self.silent:
            console.print(text, style="yellow", markup=False, soft_wrap=True)

    def at(self, work: str, done: int = 0, total: int = 0) -> None:
        if work != self._work and not self.quiet:
            self._work = work
            self.say(work)

    def _start(self, event: Started) -> None:
        self._total, self._first, self._began = event.total, event.step, time.monotonic()
        self._unit = event.unit
        began = f"going on at step {event.step:,} of" if event.step else "training for"
        steps = f"{event.total:,} steps ({event.total / max(event.steps_per_epoch, 1):.1f} epochs)"
        what = f"{count(event.parameters)} parameters, {began} {steps}, in [bold]{event.folder}[/]"
        console.print(what, soft_wrap=True)
        if console.is_terminal:
            self._live = Progress(TextColumn("{task.description}"), BarColumn(None), console=console, transient=True)
            self._task = self._live.add_task("", total=event.total, completed=event.step)
            self._live.start()

    def _step(self, event: Step) -> None:
        self._recent = [*self._recent[-19:], event]
        if self._live is not None:
            self._live.update(self._task, completed=event.number, description=self._line(event))
        elif time.monotonic() - self._spoke > PLAIN_EVERY or event.number == self._total:
            self._spoke = time.monotonic()
            print(self._line(event), flush=True)

    def _line(self, event: Step) -> str:
        predictions = sum(step.predictions for step in self._recent)
        loss = sum(step.loss * step.predictions for step in self._recent) / predictions
        speed = sum(step.size for step in self._recent) / sum(step.seconds for step in self._recent)
        done = event.number - self._first
        left = (time.monotonic() - self._began) / done * (self._total - event.number)
        return (
            f"step {event.number:,}/{self._total:,}  loss {loss:.3f}  {speed:,.0f} {self._unit}/s  {clock(left)} left"
        )

    def _scores(self, event: Validated) -> None:
        scores = "  ".join(f"{name} {value:.4g}" for name, value in event.scores.items())
        console.print(f"step {event.step:,}  validation: {scores}{'  [green]best so far[/]' if event.best else ''}")

    def _end(self, event: Ended) -> None:
        seconds = time.monotonic() - self._began
        why = {"done": "done", "patience": "no better for a while, so ended", "stopped": "stopped"}[event.why]
        console.print(f"step {event.step:,}  {why} after {clock(seconds)}")


def clock(seconds: float) -> str:
    """3725 → 1:02:05"""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
