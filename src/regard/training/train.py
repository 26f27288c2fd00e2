"""From a recipe to a trained run."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar

import torch

from regard.allocator import keep_memory
from regard.errors import InputError, RecipeError
from regard.model.assembly import Assembly
from regard.recipe import Menu, Part, Recipe
from regard.runs import Run
from regard.tasks.task import Task
from regard.tasks.translation import Translation
from regard.training.learner import Learner
from regard.training.loop import Event, Loop, Stop, logged
from regard.training.parallel import Team, team
from regard.training.settings import Training

T = TypeVar("T")
FREE = ("training.device", "training.parallel", "training.keep", "training.tensorboard")


def train(
    table: Mapping[str, Any], menu: Menu, folder: Path, tell: Callable[[str], None] = print, stop: Stop | None = None
) -> Iterator[Event]:
    """Everything that happens while a recipe's model is trained in a run folder, begun or gone on with."""
    keep_memory()
    recipe = Recipe.check(anchored(table), menu)
    settings: Training = wanted(recipe.training, "training").build()
    with team(settings.device) as together:
        run = Run.open(folder) if (folder / "recipe.toml").is_file() else None
        task = _together(recipe, settings, run, together)
        recipe = fitted(recipe, task, menu)
        if run is None and together.leads:
            run = Run.create(folder, recipe.table(), task.tokens(), task.facts())
        together.agree(False)
        run = run or Run.open(folder)
        _same(run, recipe, task)
        torch.manual_seed(settings.seed)
        model: Assembly = recipe.model.build()
        with run.hold() if together.leads else nullcontext():
            loop = Loop(Learner(model, task, settings, together), run, recipe.model.build, stop or Stop())
            loop.resume(tell)
            yield from logged(iter(loop), run) if together.leads else iter(loop)


def prepare(recipe: Recipe, longest: int, tokens: dict[str, Any] | None = None) -> Task:
    """The task of a recipe, its data read and encoded."""
    if recipe.model.kind != "seq2seq":
        raise RecipeError(f"model.kind: {recipe.model.kind} cannot be trained yet; choose seq2seq")
    data, cutter = wanted(recipe.data, "data"), wanted(recipe.tokens, "tokens")
    return Translation.prepare(data.build(), cutter.build(), longest, tokens)


def wanted(part: Part[T] | None, name: str) -> Part[T]:
    if part is None:
        raise RecipeError(
            f"{name}: missing; say what to learn from: data.train=FILE (FILE.de and FILE.en) data.source=de "
            "data.target=en\nor take built-in data: data.kind=numbers; `regard menu data` lists them all"
        )
    return part


def fitted(recipe: Recipe, task: Task, menu: Menu) -> Recipe:
    """The recipe with the sizes the data ask for."""
    table = recipe.table()
    table["model"] |= task.sizes()
    return Recipe.check(table, menu, recipe.name)


def anchored(table: Mapping[str, Any]) -> dict[str, Any]:
    """File names made absolute, so that a run can be gone on with from anywhere."""
    table = dict(table)
    data = table.get("data")
    if isinstance(data, dict) and data.get("kind", "files") == "files":
        named = {key: str(Path(data[key]).absolute()) for key in ("train", "valid", "test") if data.get(key)}
        table["data"] = data | named
    return table


def _together(recipe: Recipe, settings: Training, run: Run | None, together: Team) -> Task:
    """The leading process reads the data first; the others find them in the cache."""
    tokens = None if run is None else run.tokens
    task = prepare(recipe, settings.longest, tokens) if together.leads else None
    tokens = together.share(None if task is None else task.tokens())
    return task or prepare(recipe, settings.longest, tokens)


def _same(run: Run, recipe: Recipe, task: Task) -> None:
    """A run goes on with its own recipe and its own data, or not at all."""
    old, new = _flat(run.recipe), _flat(recipe.table())
    for key in sorted(old | new):
        if key not in (*FREE, "name", "about") and old.get(key) != new.get(key):
            raise RecipeError(
                f"{key}: the run in {run.folder} has {old.get(key, 'none')!r}, now it says {new.get(key, 'none')!r}\n"
                "go on with the run's own recipe, or train a new run in another --out"
            )
    if run.facts.get("data") != task.facts()["data"]:
        raise InputError(f"{run.folder}: the data are not those this run began with; train a new run in another --out")


def _flat(table: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= _flat(value, f"{above}{key}.") if isinstance(value, Mapping) else {above + key: value}
    return flat
