"""The training loop: one generator of what happens. The command prints it, a study plots it, a test takes three."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

from regard.errors import FailedError, InputError, RecipeError
from regard.model.assembly import Assembly
from regard.model.weights import fill
from regard.runs import Run
from regard.tasks.task import Task
from regard.training.learner import Learner, Step
from regard.training.settings import Training


@dataclass(frozen=True)
class Started:
    """Training begins or goes on."""

    folder: Path
    step: int
    total: int
    epoch: int
    parameters: int


@dataclass(frozen=True)
class Validated:
    """Held-out data were scored."""

    step: int
    scores: dict[str, float]
    best: bool


@dataclass(frozen=True)
class Saved:
    """A checkpoint was written."""

    step: int


@dataclass(frozen=True)
class Ended:
    """Why it ended: `done`, `patience`, or `stopped` from outside."""

    step: int
    why: str


Event = Started | Step | Validated | Saved | Ended


@dataclass
class Stop:
    """Somebody wants this to end: asked before every step, of training and of writing a validation."""

    asked: bool = False
    heeded: bool = False

    def __call__(self) -> bool:
        return self.asked

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """^C and SIGTERM ask once; asked twice, ^C interrupts at once, as both do while nobody heeds them."""
        old = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if not self.heeded or (self.asked and number == signal.SIGINT):
            raise KeyboardInterrupt
        self.asked = True


@dataclass
class Progress:
    """What the loop knows beside tensors."""

    step: int = 0
    validated: int = 0
    saved: int = -1
    best: float | None = None
    best_step: int = 0
    waited: int = 0
    scores: dict[str, float] = field(default_factory=dict)


class Loop:
    """Steps, validations and checkpoints in their order; resumed, it goes on as if nothing had happened."""

    def __init__(self, learner: Learner, run: Run, fresh: Callable[[], Assembly], stop: Stop) -> None:
        self.learner, self.run, self.stop = learner, run, stop
        self.task: Task = learner.task
        self.settings: Training = learner.settings
        self.team = learner.team
        self._fresh = fresh
        self.progress, self._kept = Progress(), Progress()
        epoch = -(-len(learner.batches) // self.settings.accumulate)
        self.validate_every = self.settings.validate_every or epoch
        self.save_every = self.settings.save_every or self.validate_every
        if self.settings.best_by not in self.task.metrics:
            raise RecipeError(f"training.best_by: there is {', '.join(self.task.metrics)}")

    def resume(self, tell: Callable[[str], None]) -> None:
        """From the newest whole checkpoint, if there is one."""
        checkpoint = self.run.newest(tell if self.team.leads else lambda _: None)
        if checkpoint is None and self.run.checkpoints():
            raise InputError(f"{self.run.folder}: none of its checkpoints is whole; train a new run in another --out")
        if checkpoint is not None:
            self.learner.restore(checkpoint.tensors("weights.safetensors"), checkpoint.tensors("state.safetensors"))
            self.progress, self._kept = (Progress(**checkpoint.progress()) for _ in range(2))
        if self.team.leads:
            self.run.rewind(self.progress.step)
            if self.progress.best_step:  # the pointer may be one validation behind or ahead
                self.run.point("best", f"step-{self.progress.best_step}")

    def __iter__(self) -> Iterator[Event]:
        learner, progress = self.learner, self.progress
        self.stop.heeded = True
        size = sum(parameter.numel() for parameter in learner.model.parameters())
        epoch = len(learner.batches) // self.settings.accumulate
        yield Started(self.run.folder, progress.step, learner.total, epoch, size)
        while True:
            yield from self._look()
            if self.team.agree(self.stop()):
                yield from self._save()
                return (yield Ended(progress.step, "stopped"))
            if progress.step >= learner.total or self._out_of_patience():
                yield from self._save()
                why = "done" if progress.step >= learner.total else "patience"
                return (yield Ended(progress.step, why))
            if progress.step % self.save_every == 0 and progress.step:
                yield from self._save()
            yield self._step()

    def _step(self) -> Step:
        try:
            step = self.learner.step(self.progress.step)
        except FailedError:
            list(self._save())  # the last good state is worth keeping
            raise
        self.progress.step = step.number
        return step

    def _look(self) -> Iterator[Event]:
        """Validate where it is due and has not been done."""
        step = self.progress.step
        due = step % self.validate_every == 0 or step >= self.learner.total
        if not step or not due or self.progress.validated == step:
            return
        scores = self._scores()
        if scores is None:
            return
        name = self.settings.best_by
        value = self.task.metrics[name] * scores[name] if name in scores else None  # nothing is held out to judge by
        best = value is None or self.progress.best is None or value > self.progress.best
        self.progress.validated, self.progress.scores = step, scores
        self.progress.waited = 0 if best else self.progress.waited + 1
        yield Validated(step, scores, best)  # before it is saved as done: killed in between, it is logged again
        if best:
            self.progress.best, self.progress.best_step = value, step
            yield from self._save()
            if self.team.leads:
                self.run.point("best", f"step-{step}")

    def _scores(self) -> dict[str, float] | None:
        """The leading process looks, with the weights a user would get; the others wait."""
        weights = self.learner.weights()
        scores: dict[str, float] | None = None
        if self.team.leads:
            model = self._fresh()
            fill(model, weights)
            scores = self.task.validate(model.to(self.team.device).eval(), self.stop)
        shared: dict[str, float] | None = self.team.share(scores)
        return shared

    def _save(self) -> Iterator[Event]:
        progress = self.progress
        if progress.saved == progress.step:
            if self.team.leads and progress != self._kept:  # stopped inside a validation that has been done since
                self.run.amend(progress.step, vars(progress).copy())
            self._kept = replace(progress)
            return
        weights, state = self.learner.weights(), self.learner.state()
        progress.saved = progress.step
        if self.team.leads:
            self.run.save(progress.step, weights, state, vars(progress).copy(), self.settings.keep)
        self._kept = replace(progress)
        self.team.agree(False)  # nobody goes on before it is written
        yield Saved(progress.step)

    def _out_of_patience(self) -> bool:
        return bool(self.settings.patience) and self.progress.waited >= self.settings.patience
