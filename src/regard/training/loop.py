"""The training loop: one generator of what happens."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import isfinite
from time import monotonic
from typing import ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from regard.disk.tensors import Tensors
from regard.errors import DivergedError, InputError, NoNumbersError
from regard.listener import SILENT, Listener
from regard.matmul import multiply_with
from regard.model.assembly import Assembly
from regard.run import Checkpoint, Run
from regard.tasks.task import Exam
from regard.training.events import Behind, Ended, Event, Saved, Started, Step, Validated
from regard.training.learner import Learner
from regard.training.leaving import LeftError
from regard.training.stop import Stop

FIRST = 45.0  # seconds after which something is saved, whatever the recipe says
FIRST_LOOK = 15.0  # the same before a validation, which may take long


@dataclass
class Progress:
    """What the loop knows beside tensors."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    step: int = 0
    validated: int = 0
    saved: int = -1
    best: float | None = None
    best_loss: float | None = None
    best_step: int = 0
    waited: int = 0
    scores: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> "Progress":
        """What a checkpoint says, if it can be."""
        damaged = f"{checkpoint.folder}/manifest.json: damaged: progress."
        try:
            found = TypeAdapter(cls).validate_python(checkpoint.progress())
        except ValidationError as error:
            raise InputError(damaged + ".".join(map(str, error.errors()[0]["loc"]))) from error
        last = checkpoint.step
        for name, least in {"step": last, "saved": last, "validated": 0, "best_step": 0, "waited": 0}.items():
            if not least <= vars(found)[name] <= last:
                raise InputError(f"{damaged}{name} is {vars(found)[name]:,} after {last:,} steps")
        return found


class Loop:
    """Steps, validations and checkpoints in their order; resumed, it goes on as if nothing had happened."""

    def __init__(
        self,
        learner: Learner,
        run: Run,
        load: Callable[[Tensors], Assembly],
        stop: Stop,
        listener: Listener = SILENT,
    ) -> None:
        self.learner, self.run, self.stop, self.listener = learner, run, stop, listener
        self.task, self.settings, self.processes = learner.task, learner.settings, learner.processes
        self._load = load
        self.progress, self._kept = Progress(), Progress()
        self.steps_per_epoch = -(-len(learner.batches) // self.settings.accumulate)
        self.validate_every = self.settings.checkpoints.validate_every or self.steps_per_epoch
        self.save_every = self.settings.checkpoints.save_every or self.validate_every

    def resume(self, checkpoint: Checkpoint | None) -> None:
        """Go on from a whole checkpoint, if there is one."""
        if checkpoint is not None:
            try:
                self.learner.restore(checkpoint.weights(), checkpoint.state())
            except InputError as error:
                raise InputError(f"{checkpoint.folder}: {error}") from error
            self.progress, self._kept = Progress.of(checkpoint), Progress.of(checkpoint)
        if self.processes.leads:
            self.run.rewind(self.progress.step)
            if self.progress.best_step:  # the pointer may be one validation behind or ahead
                self.run.point("best", f"step-{self.progress.best_step}")

    def __iter__(self) -> Iterator[Event]:
        learner, progress = self.learner, self.progress
        self.stop.heeded = True
        size = sum(parameter.numel() for parameter in learner.model.parameters())
        yield Started(self.run.folder, progress.step, learner.total, self.steps_per_epoch, size, self.task.unit)
        began = monotonic()
        while True:
            if self._due() and self._unsaved_for(FIRST_LOOK, began):
                yield from self._save()
            yield from self._look()
            if self.processes.agree(self.stop()):
                yield from self._save()
                return (yield Ended(progress.step, "stopped"))
            if progress.step >= learner.total or self._out_of_patience():
                yield from self._save()
                why = "done" if progress.step >= learner.total else "patience"
                return (yield Ended(progress.step, why, self._behind(progress.best)))
            if (progress.step % self.save_every == 0 and progress.step) or self._unsaved_for(FIRST, began):
                before = progress.saved
                yield from self._save()
                if progress.saved != before:  # saving takes its time, in which somebody may have asked to stop
                    continue
            with suppress(LeftError):  # it is taken again when this is resumed
                yield self._step()

    def _step(self) -> Step:
        try:
            step = self.learner.step(self.progress.step, self.stop.overdue)
        except DivergedError as error:
            if error.usable:  # a state that gives no loss would give no answers
                list(self._save())
            raise
        self.progress.step = step.number
        return step

    def _unsaved_for(self, seconds: float, began: float) -> bool:
        """Whether nothing at all has been saved for so long: a minute's work is the most that a dead machine costs."""
        return self.progress.saved < 0 and self.processes.agree(monotonic() - began >= seconds)

    def _due(self) -> bool:
        step = self.progress.step
        due = step % self.validate_every == 0 or step >= self.learner.total
        return bool(step) and due and self.progress.validated != step

    def _look(self) -> Iterator[Event]:
        """Validate where it is due and has not been done."""
        step = self.progress.step
        if not self._due():
            return
        scores = self._scores()
        if scores is None:
            return
        name = self.settings.checkpoints.best_by
        value = self.task.metrics[name] * scores[name] if name in scores else None  # nothing is held out to judge by
        best = value is None or (isfinite(value) and self._better(value, scores.get("loss")))
        self.progress.validated, self.progress.scores = step, scores
        self.progress.waited = 0 if best else self.progress.waited + 1
        behind = self._behind(value if best else self.progress.best)
        yield Validated(step, scores, best, behind)  # before it is saved as done: killed in between, it is logged again
        if best:
            self.progress.best, self.progress.best_loss = value, scores.get("loss")
            self.progress.best_step = step
            yield from self._save()
            if self.processes.leads:
                self.run.point("best", f"step-{step}")

    def _behind(self, best: float | None) -> Behind | None:
        """Whether the run that this one began from was better, where it was validated on the same data."""
        name, facts = self.settings.checkpoints.best_by, self.run.facts.get("from", {})
        scores = facts.get("scores")
        start = scores.get(name) if isinstance(scores, dict) else None
        sign = self.task.metrics[name]
        if best is None or not isinstance(start, int | float) or sign * start <= best:
            return None
        return Behind(name, sign * best, start)

    def _better(self, value: float, loss: float | None) -> bool:
        """Whether a score is the best so far. Among equal ones the loss decides: BLEU may be 0 for long."""
        best, least = self.progress.best, self.progress.best_loss
        if best is None or value != best:
            return best is None or value > best
        return loss is not None and least is not None and loss < least

    def _scores(self) -> dict[str, float] | None:
        """The leading process looks, with the weights a user would get; the others wait."""
        weights = self.learner.weights(self.progress.step)
        scores: dict[str, float] | None = None
        if self.processes.leads:
            model = self._load(weights).to(self.processes.device).eval()
            self.listener.at("validating")
            exam = Exam(self.task.data, "valid", quick=True, stopped=self.stop, listener=self.listener)
            try:
                with multiply_with(self.learner.matmul):
                    found = self.task.evaluate(self.task.answerer(model, quick=True), exam)
            except NoNumbersError as error:  # the weights are numbers still, and what they give is not
                step = self.progress.step
                raise DivergedError(f"step {step}: no answer of the validation is a number any more", step) from error
            scores = None if found is None else found.scores
        shared: dict[str, float] | None = self.processes.share(scores)
        return shared

    def _save(self) -> Iterator[Event]:
        progress = self.progress
        if progress.saved == progress.step:
            if self.processes.leads and progress != self._kept:  # stopped inside a validation that has been done since
                self.run.amend(progress.step, vars(progress).copy())
            self._kept = replace(progress)
            return
        if self.processes.leads:
            self.listener.at("saving")
        weights, state = self.learner.weights(progress.step), self.learner.state()
        progress.saved = progress.step
        if self.processes.leads:
            self.run.save(progress.step, weights, state, vars(progress).copy(), self.settings.checkpoints.keep)
        self._kept = replace(progress)
        self.processes.agree(False)  # nobody goes on before it is written
        yield Saved(progress.step)

    def _out_of_patience(self) -> bool:
        patience = self.settings.checkpoints.patience
        return bool(patience) and self.progress.waited >= patience
