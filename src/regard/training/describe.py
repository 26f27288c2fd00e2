"""A recipe or a run in figures, with the vocabulary that it has or will have."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from regard.errors import RecipeError
from regard.figures import figures
from regard.listener import SILENT, Listener
from regard.model.build import open_recipe
from regard.model.describe import Description
from regard.model.describe import describe as described
from regard.recipe import Recipe, Size
from regard.recipe.errors import nearest
from regard.recipe.keys import Keys
from regard.recipe.override import Override, plain
from regard.recipe.read import is_run, keys, read
from regard.recipe.stand_in import put_over
from regard.run import Run
from regard.tasks.task import Task
from regard.training.menu import MENU


def describe(
    recipe: str | PathLike[str] | Mapping[str, Any] | Recipe,
    *overrides: Override,
    length: int | None = None,
    batch: int = 16,
    listener: Listener = SILENT,
) -> Description:
    """A model in figures, without making its weights: fast and small for any size.

    `recipe` is a name, a file, tables, or a run: its folder, or what `train` returned. `print` shows what the command
    does. `length` is that of a sequence in tokens: 128 if it is not said, or as many as the model has positions for.
    Where a vocabulary is learnt from data, it is as large as the recipe lets it become.
    """
    named = fspath(recipe) if isinstance(recipe, PathLike) else recipe
    run = Run.open(Path(named)) if isinstance(named, str) and is_run(named) else None
    said = _became(run, listener) if run is not None else ""  # first: what is wrong with a run is not said of its keys
    found = open_recipe(named, overrides)
    _check_keys(overrides, _tables(named, overrides))
    sizes = {} if run is not None else _expected(found, _tables(named, overrides))
    sized = found.sized(sizes, MENU) if sizes else found
    return replace(described(sized, length=length, batch=batch), vocabulary=_vocabulary(sized, sizes, run), run=said)


def _tables(recipe: str | Mapping[str, Any] | Recipe, overrides: Sequence[Override]) -> dict[str, Any]:
    """All that a recipe says, be it whole enough to be trained or not."""
    if isinstance(recipe, Recipe):
        return put_over(recipe.table(), overrides, MENU)
    return put_over(plain(recipe) if isinstance(recipe, Mapping) else read(recipe), overrides, MENU)


def _check_keys(overrides: Sequence[Override], table: Mapping[str, Any]) -> None:
    """Refuse a key that nothing reads: of a model alone, all others would be passed over."""
    known = Keys(table, MENU)
    for key in keys(overrides):
        if key not in known.valid:
            raise RecipeError(f"{key}: unknown{known.suggest(key) or nearest(key, known.sections)}")


def facts(run: Run, listener: Listener = SILENT) -> dict[str, Any]:
    """What a run folder says about itself."""
    checkpoint, task = run.for_use(listener), run.recipe.get("task", {})
    kind = task.get("kind") if isinstance(task, dict) else task
    scores = checkpoint.progress().get("scores", {})
    return {"task": kind, "step": checkpoint.step, "scores": scores, "data": run.recipe.get("data", {})}


def _became(run: Run, listener: Listener) -> str:
    known = facts(run, listener)
    return f"a run for {known['task']}, best at step {known['step']:,}  {figures(known['scores'])}"


def _expected(recipe: Recipe, table: Mapping[str, Any]) -> dict[str, Size]:
    """Sizes that the task will ask of the model, as far as that is known; what the recipe says itself stays."""
    task = table.get("task")
    kind = task.get("kind") if isinstance(task, Mapping) else task
    part = MENU.parts["task"].get(str(kind))
    if part is None or not issubclass(part.entry, Task):
        return {}
    said = recipe.model.model_fields_set
    return {key: size for key, size in part.entry.expected(table).items() if key not in said}


def _vocabulary(recipe: Recipe, sizes: Mapping[str, Size], run: Run | None) -> str:
    """How many tokens there are, and how that is known."""
    keys = [key for key in type(recipe.model).model_fields if key.endswith("vocab_size")]
    counted = list(dict.fromkeys(f"{getattr(recipe.model, key):,}" for key in keys))
    if not counted:
        return ""
    shown = " and ".join(counted)
    if run is not None:
        return f"{shown}, as learnt"
    if sizes:
        return f"about {shown}; the data decide"
    return f"{shown}, as the recipe says" if set(keys) & recipe.model.model_fields_set else f"{shown}, if none is said"
