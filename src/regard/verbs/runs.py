"""Any way to name a run, opened for use."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from regard.decoding.resize import beam_keys
from regard.errors import InputError, RecipeError
from regard.listener import SILENT, Listener
from regard.recipe.override import Override
from regard.recipe.read import keys
from regard.run import Run
from regard.tasks.task import Task
from regard.trained import Trained, open_run, task_of
from regard.training.menu import MENU
from regard.verbs.given import named

RunLike = str | Path | Run | Trained
"""A run: its folder, what `train` returned, or what `open_run` opened."""


def opened(
    run: RunLike,
    *overrides: Override,
    beam: int = 0,
    device: str | None = None,
    int8: bool = False,
    listener: Listener = SILENT,
) -> Trained:
    """Any way to name a run, opened for use; `beam` is short for keys of its decoding."""
    if isinstance(run, Trained):
        if device is not None or int8:
            raise InputError("this run is open already: say device= and int8= where it is opened, in open_run")
        return run.answering(*_beam(run.recipe.table(), beam, overrides), *overrides)
    if not isinstance(run, str | Path | Run):
        raise InputError(f"wanted a run (its folder, or what train or open_run returned), given {named(run)}")
    found = run if isinstance(run, Run) else Run.open(Path(run))
    more = [*_beam(found.recipe, beam, overrides), *overrides]
    return open_run(found.folder, *more, listener=listener, device=device or "auto", int8=int8)


def _beam(recipe: Mapping[str, object], beam: int, overrides: Sequence[Override]) -> list[str]:
    """What a size of the beam asks of a recipe; what else is said of decoding is said besides."""
    decoding = recipe.get("decoding", {})
    made = beam_keys(decoding if isinstance(decoding, Mapping) else {"kind": decoding}, beam)
    twice = sorted({"decoding.kind", "decoding.beam_size"} & set(keys(overrides))) if made else []
    if twice:
        raise RecipeError(
            f"{twice[0]}: the beam is said twice; leave this out, or ", call=f"beam={beam}", flag=f"--beam {beam}"
        )
    return made


A = TypeVar("A")


def answerer_of(run: RunLike, kind: type[A], called: str) -> A:
    """What answers with a run, if that is of a kind; else its task is named."""
    trained = opened(run)
    if not isinstance(trained.answerer, kind):
        raise _other_task(trained.run.folder, task_of(trained.recipe), trained.recipe.wants("task").kind, called)
    return trained.answerer


def check_verb(folder: Path, verb: str, called: str) -> None:
    """Refuse a run that another verb is for, before anything of it is read but its recipe."""
    kind = _task_kind(folder)
    part = MENU.parts["task"].get(kind)  # none: a plugin is missing, say, and whoever opens it says so
    if part is not None and issubclass(part.entry, Task) and _verb_of(part.entry) not in (verb, "describe"):
        raise _other_task(folder, part.entry, kind, called)


def check_one_task(folders: Sequence[Path]) -> None:
    """Refuse runs of different tasks, before anything of them is read but their recipes."""
    first, *others = [(folder, _task_kind(folder)) for folder in folders]
    for folder, kind in others:
        if kind != first[1]:
            said = f"{first[0]} is of {first[1]}, {folder} of {kind}"
            raise InputError(f"runs of one task can be seen side by side: {said}")


def _verb_of(task: type[Task]) -> str:
    """The verb that uses a trained run; a task of the user's own may name none, and has `describe`."""
    return task.example.split()[1]


def _task_kind(folder: Path) -> str:
    task = Run.open(folder).recipe.get("task")
    return str(task.get("kind") if isinstance(task, Mapping) else task)


def _other_task(folder: Path, task: type[Task], kind: str, called: str) -> InputError:
    return InputError(
        f"{folder}: not a {called}; its task is {kind}: ",
        call=f"regard.{_verb_of(task)}({str(folder)!r}, …)",
        flag=f"`{task.example.format(run=shlex.quote(str(folder)))}`",
    )
