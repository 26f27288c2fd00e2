"""A trained run, opened for use."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from regard.errors import InputError, RecipeError
from regard.listener import SILENT, Listener
from regard.markup import block, said
from regard.model.assembly import Assembly
from regard.model.quantize import quantize
from regard.model.weights import fit, load, shell
from regard.recipe import Recipe
from regard.recipe.plugins import check_needs
from regard.recipe.read import put
from regard.run import Run
from regard.run.pack import pack as packed
from regard.tasks.task import Task
from regard.training.menu import MENU


@dataclass(frozen=True, repr=False)
class Trained:
    """A model with its weights, its task and its recipe."""

    run: Run
    recipe: Recipe
    step: int
    task: Task
    model: Assembly

    def __repr__(self) -> str:
        size = sum(parameter.numel() for parameter in self.model.parameters())
        return f"Trained({str(self.run.folder)!r}, step {self.step:,}, {size:,} parameters)"

    def _repr_html_(self) -> str:
        return block(said(repr(self)), self.run._repr_html_())

    @cached_property
    def answerer(self) -> Any:
        """What answers with it: a `Translator`, say."""
        return self.task.answerer(self.model)


def open_run(
    folder: str | Path, *overrides: str, listener: Listener = SILENT, device: str = "cpu", int8: bool = False
) -> Trained:
    """The best checkpoint of a run, checked against the recipe before anything is built.

    `overrides` change how it answers (`decoding.beam_size=1`), never what it is. `int8` rounds all matrices to
    eight bits: faster on a CPU, a little less exact. Neither the training data nor the optimizer's state is needed.
    """
    run = Run.open(Path(folder))
    check_needs(folder, MENU.parts)
    own = Recipe.check(run.recipe, MENU)
    _only_at_use(overrides, own)
    recipe = Recipe.check(put(own.table(), overrides), MENU) if overrides else own
    checkpoint = run.for_use(listener)
    model: Assembly = shell(recipe.model.build)
    fit(model, checkpoint.shapes())
    task: Task = recipe.wants("task").build(run.files)
    for key, size in task.sizes().items():
        if getattr(recipe.model, key) != size:
            raise InputError(f"{folder}: {key} is {getattr(recipe.model, key):,} in the recipe, {size:,} in its files")
    load(model, checkpoint.weights())
    if int8:
        quantize(model)
    return Trained(run, recipe, checkpoint.step, task, model.to(device).eval())


def pack(run: str | Path, out: str | Path, listener: Listener = SILENT) -> Run:
    """Copy what it takes to use a run into a new folder: its best weights, recipe, tokenizers and a card."""
    opened = Run.open(Path(run))
    return packed(opened, out, task_of(Recipe.check(opened.recipe, MENU)).example, listener)


def task_of(recipe: Recipe) -> type[Task]:
    """The class of a recipe's task."""
    entry = recipe.wants("task").entry
    assert issubclass(entry, Task)
    return entry


def _only_at_use(overrides: Sequence[str], recipe: Recipe) -> None:
    known = task_of(recipe).at_use
    for override in overrides:
        key = override.partition("=")[0].strip()
        if not any(key == one or key.startswith(f"{one}.") for one in known):
            raise RecipeError(f"{key}: cannot be changed once a run is trained; what can is {', '.join(known)}")
