"""What was asked for: which recipe, in which folder, new, gone on with, or begun from another run."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.disk import place
from regard.errors import InputError, RecipeError
from regard.listener import Listener
from regard.recipe import Recipe
from regard.recipe.override import Override, plain
from regard.recipe.read import is_run, keys, put, read
from regard.recipe.recipe import named
from regard.recipe.stand_in import put_over
from regard.run import Run
from regard.run.create import check_new, free_folder
from regard.tasks.task import Task
from regard.training.begin import Base, open_base
from regard.training.menu import MENU
from regard.training.resume import check_keys, check_whole
from regard.training.settings import Start, TrainingOptions

Given = str | Mapping[str, Any]


@dataclass(frozen=True)
class Asked:
    """A recipe and a folder; the run that is gone on with, or the one whose weights are begun with."""

    recipe: Recipe
    folder: Path
    run: Run | None = None
    base: Base | None = None

    @classmethod
    def of(cls, recipe: Given, overrides: Iterable[Override], out: str | Path | None, resume: bool) -> "Asked":
        """Everything that can be refused before anything is read is refused here."""
        folder = _folder(recipe, out, resume)
        overrides = list(overrides)
        if resume:
            run = Run.open(folder)
            check_whole(run)
            overrides = [*overrides, *_steps_of(run, recipe, overrides)]
            asked = cls(Recipe.resolve(recipe, MENU, overrides), folder, run)
            if isinstance(recipe, str) and is_run(recipe):
                check_keys(run, asked.recipe)
            return asked
        check_new(folder)
        return cls(Recipe.resolve(recipe, MENU, overrides), folder)


def asked_for(
    recipe: Given, overrides: Iterable[Override], out: str | Path | None, resume: bool, listener: Listener
) -> Asked:
    """The same, where sections that are left out may be those of the run that is begun from.

    A first word `from=RUN` is an override like any other: there is no recipe then but that of the run.
    """
    overrides = _one_length(list(overrides))
    if isinstance(recipe, str) and (not recipe or ("=" in recipe and not Path(recipe).exists())):
        overrides, recipe = [recipe, *overrides] if recipe else overrides, {}
    if resume and not recipe and out is None and "from" in put({}, overrides):
        raise InputError("from= begins a new run, and to resume is to go on with one: say one of the two")
    if resume:
        return Asked.of(recipe, overrides, out, resume)
    own = read(recipe) if isinstance(recipe, str) and not is_run(recipe) else {} if isinstance(recipe, str) else recipe
    source = put(plain(own), overrides).get("from")
    if source is None:
        if not isinstance(recipe, str) and not recipe:
            raise RecipeError(
                "no recipe; name one, ",
                call="such as those of regard.recipes(), or a run to begin from: start=RUN",
                flag="such as those of `regard recipes`, or a run to begin from: from=RUN",
            )
        return Asked.of(recipe, overrides, out, resume)
    start: Start = MENU.order("from", {"run": source} if isinstance(source, str) else source, "from").build()
    base = open_base(start, (), listener)
    table = _completed(own, overrides, base)
    folder = _folder(recipe if isinstance(recipe, str) else table, out, resume)
    check_new(folder)
    made = Recipe.check(table, MENU, named(recipe) if isinstance(recipe, str) else "recipe")
    taken = _inherited(made, overrides, base)
    return Asked(made, folder, None, replace(base, sections=taken))


def _one_length(overrides: list[Override]) -> list[Override]:
    """How long to train is said in one way: steps or epochs that are said now count, whatever minutes a recipe has."""
    said = keys(overrides)
    others = [key for key in ("training.steps", "training.epochs") if key in said]
    if "training.minutes" not in said:
        return [*overrides, {"training.minutes": 0.0}] if others else overrides
    if others:
        raise RecipeError(f"training.minutes, {others[0]}: both say how long to train; leave one out")
    return overrides


def _steps_of(run: Run, recipe: Given, overrides: list[Override]) -> list[Override]:
    """A run that was begun for some minutes goes on for as many steps as it was found to have then; for other minutes,
    for as many more or fewer."""
    training: TrainingOptions = Recipe.resolve(recipe, MENU, overrides).wants("training").build()
    begun: TrainingOptions = Recipe.check(run.recipe, MENU).wants("training").build()
    if not training.minutes:
        return []
    if not begun.minutes:
        counted = f"training.steps=N, more than {begun.steps:,}" if begun.steps else "training.epochs=N"
        raise RecipeError(f"training.minutes: the run in {run.folder} was begun for a number of steps; say {counted}")
    return [{"training.steps": max(1, round(begun.steps * training.minutes / begun.minutes))}]


def _completed(own: Mapping[str, Any], overrides: list[Override], base: Base) -> dict[str, Any]:
    """A recipe with what it leaves out as it is in the run begun from; sizes are found anew."""
    theirs = plain(base.run.recipe)
    for key in ("from", *(("name", "about") if own else ())):
        theirs.pop(key, None)
    task: Task = base.recipe.wants("task").build(base.run.files)
    for size in task.sizes():
        theirs["model"].pop(size, None)
    said = own.get("task", {})
    kind = said if isinstance(said, str) else said.get("kind") if isinstance(said, Mapping) else None
    if kind not in (None, base.recipe.wants("task").kind):
        theirs = {"model": theirs["model"]}  # another task reads other sections
    return put_over(theirs | plain(own), overrides, MENU)


def _inherited(recipe: Recipe, overrides: list[Override], base: Base) -> tuple[str, ...]:
    """Sections whose outcome is taken over: those that nobody asked to be otherwise."""
    task, theirs = recipe.wants("task"), base.recipe.wants("task")
    assert issubclass(task.entry, Task)
    if task.kind != theirs.kind:
        return ()
    said = {key.partition(".")[0] for key in keys(overrides)}
    same = [
        section for section in task.entry.inherits if getattr(task, section).table() == getattr(theirs, section).table()
    ]
    return tuple(section for section in same if section not in said)


def _folder(recipe: Given, out: str | Path | None, resume: bool) -> Path:
    """The folder meant; to go on, naming the run is enough."""
    run = isinstance(recipe, str) and is_run(recipe)
    if run and not resume:
        raise InputError(
            f"{recipe}: there is a run already; ",
            call=f"go on with resume=True, or begin from it: train('from={recipe}', …)",
            flag=f"go on with --resume, or begin from it: regard train from={shlex.quote(str(recipe))} …",
        )
    if run and out is not None:
        raise InputError(f"{recipe}, {out}: two folders for one run; to go on, name the run alone")
    if run:
        return place(str(recipe))
    if resume and out is None:
        what = "not a run folder" if isinstance(recipe, str) and place(recipe).is_dir() else "no such run"
        asked = recipe if isinstance(recipe, str) and recipe else "recipe"
        if what == "no such run" and is_run(usual := Path("runs") / asked):
            raise InputError(f"{asked}: {what} to go on with; did you mean {usual}?")
        raise InputError(
            f"{asked}: {what} to go on with; name the folder of a run: ",
            call="train('runs/NAME', resume=True)",
            flag="`regard train runs/NAME --resume`",
        )
    name = named(recipe) if isinstance(recipe, str) else str(recipe.get("name", "recipe"))
    return place(out) if out is not None else free_folder(Path("runs") / name)
