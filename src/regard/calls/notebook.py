"""Progress in a notebook: one display that changes as the work goes on, and stays as a summary."""

import time
from importlib import import_module
from types import TracebackType
from typing import Any

from regard.figures import clock, figures
from regard.listener import Listener
from regard.markup import Point, bar, block, curves, said, table
from regard.training.events import Ended, Event, Prepared, Started, Step, Validated

EVERY = 0.25  # seconds between two pictures
MOST = 200  # points of a curve
WHY = {"done": "done", "patience": "ended: no better for a while", "stopped": "stopped and saved"}


class Board(Listener):
    """What a reader of a notebook sees of a work: its stage, a bar, the loss, the time left, a learning curve.

    `stays` says whether it is kept as a summary; else it goes when the work is done.
    """

    def __init__(self, stays: bool = True) -> None:
        self._stays, self._drawn = stays, 0.0
        self._display: Any = None
        self._lines: list[str] = []
        self._work, self._done = "", 0
        self._total, self._first, self._began = 0, 0, time.monotonic()
        self._training = (0, 0, 0.0)  # the same of the training, while another work is shown
        self._head = self._end = ""
        self._rows: list[tuple[str, ...]] = []
        self._losses: list[Point] = []
        self._valid: list[Point] = []
        self._best: dict[str, float] = {}

    def __enter__(self) -> "Board":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not self._end:
            self._end = "interrupted" if isinstance(error, KeyboardInterrupt) else f"failed: {error}"
        if not self._stays and error is None and self._display is not None and not self._lines:
            self._display.update({"text/html": "", "text/plain": ""}, raw=True)
        elif self._display is not None:
            self._draw()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Prepared):
            self._rows = [(split, str(report)) for split, report in event.splits.items()]
        elif isinstance(event, Started):
            self._start(event)
        elif isinstance(event, Step):
            self._work, self._done = "training", event.number
            self._total, self._first, self._began = self._training
            self._losses = _thinned([*self._losses, (event.number, event.loss)])
        elif isinstance(event, Validated):
            self._valid += [(event.step, event.scores["loss"])] if "loss" in event.scores else []
            self._best = event.scores if event.best else self._best
        elif isinstance(event, Ended):
            self._end = f"{WHY.get(event.why, event.why)} after {clock(time.monotonic() - self._training[2])}"
            self._end += f"; {event.behind}" if event.behind else ""
        self._draw(soon=isinstance(event, Step))

    def say(self, text: str) -> None:
        self._lines = [*self._lines, text][-5:]
        self._draw()

    def at(self, work: str, done: int = 0, total: int = 0) -> None:
        new = work != self._work
        if new:
            self._first, self._began = done, time.monotonic()
        self._work, self._done, self._total = work, done, total
        self._draw(soon=not new)

    def _start(self, event: Started) -> None:
        self._work, self._done = "training", event.step
        self._training = self._total, self._first, self._began = event.total, event.step, time.monotonic()
        self._head = f"{event.folder}: {event.parameters:,} parameters, {event.total:,} steps"

    def html(self) -> str:
        """All that is known by now."""
        share = f"{self._done:,}/{self._total:,}" if self._total else f"{self._done:,}" if self._done else ""
        live = f"{said(self._work)} {bar(self._done / self._total) if self._total else ''} {share} {said(self._left())}"
        best = figures(self._best)
        return block(
            f"<b>{said(self._head)}</b>" if self._head else "",
            table(("", ""), self._rows) if self._rows else "",
            *(said(line) for line in self._lines),
            said(self._end) if self._end else live if self._work else "",
            curves({"loss": self._losses, "validation loss": self._valid}),
            f"best validation: {said(best)}" if best else "",
        )

    def _left(self) -> str:
        """Time left, once there is something to reckon by."""
        passed, done = time.monotonic() - self._began, self._done - self._first
        if not self._total or done < 1 or passed < 1:
            return ""
        return f"{clock(passed / done * (self._total - self._done))} left"

    def _draw(self, soon: bool = False) -> None:
        now = time.monotonic()
        if soon and now - self._drawn < EVERY:
            return
        self._drawn = now
        shown = {"text/html": self.html(), "text/plain": " ".join([self._head, self._work, self._end]).strip()}
        if self._display is None:
            display: Any = import_module("IPython.display").display
            self._display = display(shown, raw=True, display_id=True)
        else:
            self._display.update(shown, raw=True)


def _thinned(points: list[Point]) -> list[Point]:
    """At most so many: of twice as many, the mean of every two."""
    if len(points) < 2 * MOST:
        return points
    pairs = zip(points[::2], points[1::2], strict=False)
    return [(later[0], (one[1] + later[1]) / 2) for one, later in pairs]
