"""What would be trained: found by preparing everything and timing a few steps, with nothing left behind."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.allocator import keep_memory
from regard.datasets.data import Report, Split
from regard.figures import clock, count, size, text_table
from regard.listener import SILENT, Listener
from regard.markup import table
from regard.matmul import Matmul
from regard.recipe.override import Override
from regard.training.asked import asked_for
from regard.training.memory import Memory, learnt, needed
from regard.training.parallel import processes
from regard.training.ready import prepared, ready, refuse
from regard.training.rehearsal import rehearse, time_steps
from regard.training.settings import TrainingOptions
from regard.training.threads import Threads, use_threads


@dataclass(frozen=True)
class Plan:
    """What a training would be: the data, the model, how long it takes here and what it needs."""

    name: str
    task: str
    folder: Path
    splits: dict[Split, Report]
    model: str
    parameters: int
    step: int
    steps: int
    steps_per_epoch: int
    seconds_per_step: float
    unit: str
    units_per_second: float
    memory: Memory
    matmul: Matmul
    threads: Threads
    minutes: float = 0.0

    @property
    def seconds(self) -> float:
        """For all steps that are to come; validations are not counted."""
        return self.seconds_per_step * max(0, self.steps - self.step)

    def rows(self) -> list[tuple[str, str]]:
        """What people read of it: a name and a sentence each."""
        rows = [("task", f"{self.task}, recipe {self.name}, in {self.folder}")]
        rows += [(f"{split} data", str(report)) for split, report in self.splits.items()]
        rows.append(("model", f"{self.model}, {count(self.parameters)} parameters"))
        epochs = self.steps / max(self.steps_per_epoch, 1)
        fit = f", as fit into {self.minutes:g} min" if self.minutes and not self.step else ""
        rows.append(("steps", f"{self.steps:,} ({epochs:.1f} epochs of {self.steps_per_epoch:,}){fit}"))
        rows += [("", f"of which {self.step:,} are done")] if self.step else []
        speed = f"{self.seconds_per_step:.3g} s a step, {self.units_per_second:,.0f} {self.unit}/s"
        rows.append(("time here", f"about {clock(self.seconds)} without validations ({speed})"))
        rows.append(("products", str(self.matmul)))
        rows.append(("threads", str(self.threads)))
        parts = ("weights", "gradients", "optimizer", "activations", "process")
        shares = ", ".join(f"{name} {size(getattr(self.memory, name))}" for name in parts)
        rows.append(("memory", f"about {size(self.memory.total)} of {size(self.memory.machine)}: {shares}"))
        return rows

    def __str__(self) -> str:
        return text_table(("", ""), self.rows())

    def _repr_html_(self) -> str:
        return table(("", ""), self.rows())


def plan(
    recipe: str | Mapping[str, Any] = "",
    *overrides: Override,
    out: str | Path | None = None,
    resume: bool = False,
    listener: Listener = SILENT,
) -> Plan:
    """What `train` would do with the same arguments. Everything is checked as it is there, a few steps are taken with
    real batches by a model that is thrown away, and nothing is written but the cache."""
    keep_memory()
    asked = asked_for(recipe, overrides, out, resume, listener)
    settings: TrainingOptions = asked.recipe.wants("training").build()
    refuse(asked.recipe, settings)
    with processes(settings.machine.device) as together, ExitStack() as stack:
        stack.enter_context(use_threads(1))  # until it is known how many are worth it
        made = prepared(asked, settings, together, listener)
        stand = ready(stack, made)
        learner, memory = stand.learner, needed(stand.learner)
        first = 0 if stand.checkpoint is None else stand.checkpoint.step
        found = rehearse(made, stand)
        timed = found.timed or time_steps(learner, first, listener)
        if found.timed:  # and taken back
            learner.step(first)
        seconds = sum(step.seconds for step in timed)
        return Plan(
            made.recipe.name,
            made.recipe.wants("task").kind,
            asked.folder,
            made.reports,
            made.recipe.model.kind,
            sum(parameter.numel() for parameter in learner.model.parameters()),
            first,
            learner.total,
            -(-len(learner.batches) // settings.accumulate),
            seconds / len(timed),
            made.task.unit,
            sum(step.size for step in timed) / seconds,
            replace(memory, optimizer=learnt(learner)),
            stand.matmul,
            found.threads,
            settings.minutes,
        )
