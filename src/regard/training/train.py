"""From a recipe to a trained run."""

import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from regard.allocator import keep_memory
from regard.apart import apart
from regard.errors import DivergedError
from regard.listener import SILENT, Listener
from regard.matmul import describe_processor
from regard.model.weights import load, shell
from regard.recipe.override import Override
from regard.run import Run
from regard.run.create import claimed, discard
from regard.run.curve import keep_table
from regard.run.told import UNKNOWN
from regard.training.asked import asked_for
from regard.training.events import Ended, Event, Prepared, Step
from regard.training.log import logged
from regard.training.loop import Loop
from regard.training.menu import MENU
from regard.training.parallel import processes
from regard.training.ready import Prepared as Made
from regard.training.ready import Ready, prepared, ready, refuse
from regard.training.rehearsal import rehearse
from regard.training.resume import changed_recipe
from regard.training.settings import TrainingOptions
from regard.training.stop import Stop
from regard.training.threads import use_threads
from regard.version import __version__

ADVICE = "lower training.optimizer.learning_rate or training.max_grad_norm, or lengthen training.schedule.warmup_steps"


def training(
    recipe: str | Mapping[str, Any] = "",
    *overrides: Override,
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
    stop = stop or Stop()
    asked = asked_for(recipe, overrides, out, resume, listener)
    settings: TrainingOptions = asked.recipe.wants("training").build()
    refuse(asked.recipe, settings)
    with processes(settings.machine.device) as together, ExitStack() as stack:
        stack.enter_context(use_threads(1))  # until it is known how many are worth it
        if asked.run is not None and together.leads:
            stack.enter_context(asked.run.hold())
        made = prepared(asked, settings, together, listener)
        if together.leads:
            yield Prepared(made.reports)
        stand = ready(stack, made)
        threads = rehearse(made, stand).threads.facts()
        files = dict[str, bytes]()
        if together.leads and asked.run is None:
            listener.at("preparing the run")
            files = apart(made.task.files)  # some are learnt from the data, which takes a while
        stop.heeded = True  # from here on there is a run, and whoever stops it is waited for
        if together.leads:
            if asked.run is None:
                stack.enter_context(claimed(asked.folder))
            _written(made, stand, files, threads, command)
        together.agree(False)
        run = Run.open(asked.folder)
        complete = made.recipe
        loop = Loop(stand.learner, run, lambda weights: load(shell(complete.model.build), weights), stop, listener)
        loop.resume(stand.checkpoint)
        events = iter(loop)
        if together.leads:
            written = logged(events, run, settings.checkpoints.tensorboard, Prepared(made.reports))
            events = _kept(written, run, asked.run is None, listener)
        yield from events


def _written(made: Made, stand: Ready, files: Mapping[str, bytes], threads: dict[str, Any], command: str) -> None:
    """The run with what is known of it before the first step: made now, or changed where that was asked for."""
    machine = {"matmul": stand.matmul.library, "processor": describe_processor(), **threads}
    asked, total, table = made.asked, stand.learner.total, made.recipe.table()
    if made.settings.minutes:
        table["training"]["steps"] = total  # so that a resumed run has as many
    if asked.run is not None:
        if stand.changed:
            asked.run.rewrite(changed_recipe(asked.run, stand.changed))
            asked.run.note(steps=total, commands=[*asked.run.facts.get("commands", []), command])
        kept = asked.run.facts.get("machine", {})
        if any(kept.get(key) != machine[key] for key in ("matmul", "processor", "threads")):
            asked.run.note(machine=machine)
        return
    versions = {"regard": __version__, "torch": torch.__version__, "python": platform.python_version()}
    facts = {
        "commands": [command] if command else [],
        "made": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "versions": versions,
        "machine": machine,
        "steps": total,
        "plugins": made.recipe.needs(MENU),
        "licence": made.task.data.terms() or UNKNOWN,
        "parameters": sum(parameter.numel() for parameter in stand.learner.model.parameters()),
        "splits": {split: asdict(report) for split, report in made.reports.items()},
    }
    facts |= {"from": stand.origin} if stand.origin else {}
    Run.create(asked.folder, table, files, made.task.data.fingerprint(), facts)


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
    except Exception:
        if new and first and run.folder.is_dir() and not run.checkpoints():
            discard(run.folder, [*run.facts["files"], "run.json"])
            run.folder.rmdir() if not any(run.folder.iterdir()) else None
        raise
