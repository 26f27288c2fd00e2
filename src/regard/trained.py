"""A trained run, opened for use."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from regard.errors import InputError, RecipeError
from regard.listener import SILENT, Listener
from regard.markup import block, said
from regard.model.assembly import Assembly
from regard.model.device import chosen_device
from regard.model.quantize import quantize
from regard.model.weights import fitted, load
from regard.recipe import Recipe
from regard.recipe.keys import Keys, is_within
from regard.recipe.override import Override, pairs
from regard.recipe.plugins import check_needs
from regard.recipe.read import keys, put
from regard.recipe.recipe import shown_size
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
    int8: bool = False

    def __repr__(self) -> str:
        size = sum(parameter.numel() for parameter in self.model.parameters())
        return f"Trained({str(self.run.folder)!r}, step {self.step:,}, {size:,} parameters)"

    def _repr_html_(self) -> str:
        return block(said(repr(self)), self.run._repr_html_())

    @cached_property
    def answerer(self) -> Any:
        """What answers with it: a `Translator`, say."""
        return self.task.answerer(self.model)

    def answering(self, *overrides: Override) -> "Trained":
        """The same model, answering otherwise: `answering("decoding.beam_size=1")`."""
        if not overrides:
            return self
        recipe, said = _changed(self.recipe, overrides)
        task: Task = recipe.wants("task").build(self.run.files)
        task.said = self.task.said | said
        return replace(self, recipe=recipe, task=task)


def open_run(
    folder: str | Path | Run,
    *overrides: Override,
    listener: Listener = SILENT,
    device: str = "auto",
    int8: bool = False,
) -> Trained:
    """The best checkpoint of a run, checked against the recipe before anything is built.

    `overrides` change how it answers (`"decoding.beam_size=1"`), never what it is. `device` says where: cpu, cuda,
    cuda:1, or auto, a GPU if there is one. `int8` rounds all matrices to eight bits: faster on a CPU, a little less
    exact. Neither the training data nor the optimizer's state is needed.
    """
    if not isinstance(folder, str | Path | Run):
        raise InputError(f"wanted a run folder, given {type(folder).__name__} {folder!r}")
    if not isinstance(int8, bool):
        raise InputError(f"int8: wanted True or False, given {int8!r}")
    where = chosen_device(device, int8)
    run = Run.open(Path(folder))
    check_needs(run.folder, MENU.parts)
    recipe, said_of_files = _changed(Recipe.check(run.recipe, MENU), overrides)
    checkpoint = run.for_use(listener)
    model: Assembly = fitted(recipe.model, checkpoint.shapes())
    listener.at("reading the weights")
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(checkpoint.weights)  # while tokenizers are looked through, which takes as long
        task: Task = recipe.wants("task").build(run.files)
        task.said = said_of_files
        for key, size in task.sizes().items():
            said = getattr(recipe.model, key)
            if said != size:
                told = f"{shown_size(said)} in the recipe, {shown_size(size)} in its files"
                raise InputError(f"{run.folder}: {key} is {told}")
        weights = reading.result()
    _refuse_no_numbers(run, checkpoint.step, weights)
    load(model, weights, copy=False)
    if int8:
        quantize(model)
    return Trained(run, recipe, checkpoint.step, task, model.to(where).eval(), int8)


def _changed(recipe: Recipe, overrides: Sequence[Override]) -> tuple[Recipe, dict[str, Any]]:
    """With other answers than the recipe's own; and what is said of files that are named at use, which is no part of
    it: its own data may be of a kind that has no such option."""
    _only_at_use(overrides, recipe)
    given = {".".join(steps): value for override in overrides for steps, value in pairs(override)}
    said = {key: given.pop(key) for key in task_of(recipe).at_reading if key in given}
    return Recipe.check(put(recipe.table(), [given]), MENU) if given else recipe, said


def _refuse_no_numbers(run: Run, step: int, weights: "dict[str, torch.Tensor]") -> None:
    """Weights of a training that went astray answer nothing: which ones, before anything is asked of them."""
    for name, tensor in weights.items():
        if tensor.is_floating_point() and tensor.numel() and not all(one.isfinite() for one in tensor.aminmax()):
            raise InputError(
                f"{run.folder}: {name} holds no numbers (NaN or infinite) at step {step:,}: the training diverged\n"
                "train a new run with a lower training.optimizer.learning_rate"
            )


def pack(run: str | Path | Run, out: str | Path, listener: Listener = SILENT) -> Run:
    """Copy what it takes to use a run into a new folder: its best weights, recipe, tokenizers and a card."""
    opened = Run.open(Path(run))
    task = task_of(Recipe.check(opened.recipe, MENU))
    return packed(opened, out, (task.example, f"regard train from={{run}} {task.own_data} --out runs/tuned"), listener)


def task_of(recipe: Recipe) -> type[Task]:
    """The class of a recipe's task."""
    entry = recipe.wants("task").entry
    assert issubclass(entry, Task)
    return entry


def _only_at_use(overrides: Sequence[Override], recipe: Recipe) -> None:
    known = (*task_of(recipe).at_use, *task_of(recipe).at_reading)
    for key in keys(overrides):
        if not is_within(key, known):
            table = recipe.table()
            if key not in Keys(table, MENU).valid and (meant := Keys(table, MENU, known).suggest(key)):
                raise RecipeError(f"{key}: unknown{meant}")
            more = f"; what can is {', '.join(known)}" if known else ""
            raise RecipeError(f"{key}: cannot be changed once a run is trained{more}")
