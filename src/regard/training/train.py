"""From a recipe to a trained run."""

import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

import regard
from regard.allocator import keep_memory
from regard.errors import DivergedError, FailedError
from regard.listener import SILENT, Listener
from regard.model.weights import load, shell
from regard.run import Run
from regard.run.create import discard
from regard.run.curve import keep_picture, keep_table
from regard.training.asked import asked_for
from regard.training.events import Ended, Event, Prepared, Started, Step
from regard.training.log import logged
from regard.training.loop import Loop
from regard.training.parallel import processes
from regard.training.ready import Prepared as Made
from regard.training.ready import Ready, prepared, ready, refuse
from regard.training.resume import changed_recipe
from regard.training.settings import TrainingOptions
from regard.training.stop import Stop

ADVICE = "lower training.optimizer.learning_rate or training.max_grad_norm, or lengthen training.schedule.warmup_steps"


def train(
    recipe: str | Mapping[str, Any] = "",
    *overrides: str,
    out: str | Path | None = None,
    resume: bool = False,
    start: str | Path | None = None,
    on_event: Callable[[Event], None] = lambda _: None,
) -> Run:
    """Train a recipe to its end: `train("gru-additive", "data.kind=numbers", out="runs/numbers")`.

    To go on with a run: `train("runs/numbers", resume=True)`, for longer than first said with `"training.steps=2000"`.
    To train a run on other data: `train("data.train=mine", start="runs/base", out="runs/mine")`. What is not said is
    as in that run; its best weights and its vocabulary are begun with. `"from=runs/base"` says the same.
    """
    asked = [] if start is None else [f"from={str(start)!r}"]
    given = [repr(recipe), *map(repr, overrides)] if recipe else []
    given += [f"{key}={str(value)!r}" for key, value in (("out", out), ("start", start)) if value is not None]
    run, command = None, f"regard.train({', '.join(given)})"
    try:
        for event in training(recipe, *overrides, *asked, out=out, resume=resume, command=command):
            on_event(event)
            run = Run.open(event.folder) if isinstance(event, Started) else run
    finally:
        if run is not None:
            keep_picture(run.folder, str(run.recipe.get("name", "")), SILENT)
    assert run is not None
    return run


def training(
    recipe: str | Mapping[str, Any] = "",
    *overrides: str,
    out: str | Path | None = None,
    resume: bool = False,
    listener: Listener = SILENT,
    stop: Stop | None = None,
    command: str = "",
) -> Iterator[Event]:
    """Everything that happens while a recipe's model is trained in a run folder, begun or gone on with.

    `command` is what the run says it was made by.
    """
    keep_memory()
    asked = asked_for(recipe, overrides, out, resume, listener)
    settings: TrainingOptions = asked.recipe.wants("training").build()
    refuse(asked.recipe, settings)
    with processes(settings.machine.device) as together, ExitStack() as stack:
        if asked.run is not None and together.leads:
            stack.enter_context(asked.run.hold())
        made = prepared(asked, settings, together, listener)
        if together.leads:
            yield Prepared(made.reports)
        stand = ready(stack, made)
        if together.leads:
            run = _written(made, stand, command)
            if asked.run is None:
                stack.enter_context(run.hold())
        together.agree(False)
        run = Run.open(asked.folder)
        complete = made.recipe
        loop = Loop(stand.learner, run, lambda weights: load(shell(complete.model.build), weights), stop or Stop())
        loop.resume(stand.checkpoint)
        events = iter(loop)
        if together.leads:
            events = _kept(logged(events, run, settings.checkpoints.tensorboard), run, asked.run is None, listener)
        yield from events


def _written(made: Made, stand: Ready, command: str) -> Run:
    """The run with what is known of it before the first step: made now, or changed where that was asked for."""
    asked, total = made.asked, stand.learner.total
    if asked.run is not None:
        if stand.changed:
            asked.run.rewrite(changed_recipe(asked.run, stand.changed))
            asked.run.note(steps=total, commands=[*asked.run.facts.get("commands", []), command])
        return asked.run
    versions = {"regard": regard.__version__, "torch": torch.__version__, "python": platform.python_version()}
    facts = {
        "commands": [command] if command else [],
        "made": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "versions": versions,
        "steps": total,
        "parameters": sum(parameter.numel() for parameter in stand.learner.model.parameters()),
        "splits": {split: asdict(report) for split, report in made.reports.items()},
    }
    facts |= {"from": stand.origin} if stand.origin else {}
    return Run.create(asked.folder, made.recipe.table(), made.task.files(), made.task.data.fingerprint(), facts)


def _kept(events: Iterator[Event], run: Run, new: bool, listener: Listener) -> Iterator[Event]:
    """The same events; how it ended is noted in the run, with its curve. A start that fails leaves nothing behind."""
    first = True
    try:
        for event in events:
            first = first and not isinstance(event, Step)
            if isinstance(event, Ended):
                run.note(ended=event.why, diverged=None)
                keep_table(run.folder, listener)
            yield event
    except DivergedError as error:
        saved = run.newest(SILENT)
        run.note(ended="diverged", diverged=error.step)
        keep_table(run.folder, listener)
        kept = "nothing good was saved before" if saved is None else f"step {saved.step:,} is saved"
        raise DivergedError(f"{error}: the run diverged; {kept}\n{ADVICE}", error.step) from error
    except Exception as error:
        if new and first and not run.checkpoints():
            discard(run.folder, [*run.facts["files"], "run.json"])
            run.folder.rmdir() if not any(run.folder.iterdir()) else None
        if _out_of_memory(error):
            raise FailedError(
                f"out of memory: {str(error).splitlines()[0]}\nmake batches or the model smaller"
            ) from error
        raise


def _out_of_memory(error: Exception) -> bool:
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)
