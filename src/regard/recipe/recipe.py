"""A recipe: what to make, read, checked, completed and written in one place."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from regard.disk.shelf import shelf
from regard.errors import RecipeError
from regard.recipe.errors import Suggest, nearest
from regard.recipe.keys import Keys, same_name
from regard.recipe.menu import Menu
from regard.recipe.override import Override, plain
from regard.recipe.part import Part
from regard.recipe.plugins import check_needs
from regard.recipe.read import is_run, read
from regard.recipe.stand_in import put_over

SECTIONS = ("name", "about", "from", "task", "model", "training")
SAID_ONCE = ("channels", "size")  # of images: what [task] makes of them is what the model is built for

Size = int | list[int]
"""What data may ask of a model: a number, or of images that are no squares rows and columns."""


@dataclass(frozen=True)
class Recipe:
    """What to make, with every default filled in.

    Every recipe has a [model]. Its [task] says by its own signature which other sections it reads (data,
    tokenizer, …): they are the task's slots, written as sections of their own. [training] is read with a task, and
    so is [from], the run whose weights are begun with: `from = "runs/base"` is short for a table with only a run.
    A menu without tasks (that of the model room) reads the model alone.
    """

    name: str
    about: str
    model: Part[Any]
    task: Part[Any] | None = None
    training: Part[Any] | None = None
    start: Part[Any] | None = None

    @classmethod
    def resolve(
        cls, recipe: "str | PathLike[str] | Mapping[str, Any] | Recipe", menu: Menu, overrides: Iterable[Override] = ()
    ) -> "Recipe":
        """By name, path, run folder or tables, with `a.b=c` overrides."""
        if isinstance(recipe, Recipe):
            changed = list(overrides)
            return cls.check(put_over(recipe.table(), changed, menu), menu) if changed else recipe
        if isinstance(recipe, str | PathLike):
            name = fspath(recipe)
            if is_run(name):
                check_needs(name, menu.parts)
            return cls.check(put_over(read(name), overrides, menu), menu, named(name))
        if not isinstance(recipe, Mapping):
            wanted = "a recipe (a name, a file, tables or a Recipe)"
            raise RecipeError(f"wanted {wanted}, given {type(recipe).__name__}")
        return cls.check(put_over(plain(recipe), overrides, menu), menu)

    @classmethod
    def check(cls, table: Mapping[str, Any], menu: Menu, name: str = "recipe") -> "Recipe":
        """Tables held against a menu."""
        for key in ("name", "about"):
            if not isinstance(table.get(key, ""), str):
                raise RecipeError(f"{key}: wanted a text, given {table[key]!r}")
        if "model" not in table:
            raise RecipeError(f"model: missing; choose one of {', '.join(menu.parts['model'])}")
        keys = Keys(table, menu)
        lifted = "task" in table and "task" in menu.slots
        task = menu.lift("task", table["task"], table, keys.suggest) if lifted else None
        model = _ordered_model(table, menu, keys.suggest)
        made = cls(table.get("name", name), table.get("about", ""), model)
        if "task" not in menu.slots:  # sections of tasks are not known here: tables, or the names of choices
            for key, value in table.items():
                typo = bool(get_close_matches(key, SECTIONS, cutoff=0.8))
                word = isinstance(value, str) and bool(same_name(key, keys.valid))  # `norm=rms`
                if key not in SECTIONS and (typo or word or not isinstance(value, str | Mapping)):
                    raise RecipeError(f"{key}: unknown{keys.suggest(key) or nearest(key, SECTIONS)}")
            return made
        if task is not None:
            training = menu.order("training", table.get("training", {}), "training", keys.suggest)
            made = replace(made, task=task, training=training)
        if "from" in table and "from" in menu.slots:
            start = table["from"]
            start = {"run": start} if isinstance(start, str) else start
            made = replace(made, start=menu.order("from", start, "from", keys.suggest))
        made._refuse_unknown(table, menu, keys)
        return made

    def _refuse_unknown(self, table: Mapping[str, Any], menu: Menu, keys: Keys) -> None:
        tasks = menu.parts["task"]
        known = [*SECTIONS, *(self.task.slots if self.task is not None else ())]
        for key in table:
            if self.task is None and (key == "training" or any(key in each.slots for each in tasks.values())):
                raise RecipeError(f"task: missing; choose one of {', '.join(tasks)}, which read [{key}]")
            if key not in known:
                for place in (_inner_key(key, table[key]), key):
                    if meant := keys.suggest(place):
                        raise RecipeError(f"{place}: unknown{meant}")
                raise RecipeError(f"{key}: unknown{nearest(key, known)}")

    def wants(self, section: str) -> Part[Any]:
        """A part that this recipe must have."""
        part = {"task": self.task, "training": self.training}[section]
        if part is None:
            raise RecipeError(
                f"task: missing; {self.name} says what to build, not what to train it for\nset one as task=NAME; ",
                call='print(regard.menu().slots["task"]) says which there are',
                flag="`regard menu task` lists them",
            )
        return part

    def sized(self, sizes: Mapping[str, Size], menu: Menu) -> "Recipe":
        """With the sizes that the data ask of the model; a size that the recipe says itself must be the same."""
        for key, size in sizes.items():
            if key not in type(self.model).model_fields:
                raise RecipeError(f"model.kind: {self.model.kind!r} has no {key}, which the task asks for")
            said = getattr(self.model, key)
            if key in self.model.model_fields_set and said != size:
                given = f"task.{key} is" if key in SAID_ONCE else "the data give"
                told = f"the recipe says {shown_size(said)}, {given} {shown_size(size)}"
                raise RecipeError(f"model.{key}: {told}; leave it out")
        table = self.model.table() | dict(sizes)
        return replace(self, model=menu.order("model", table, "model"))

    def needs(self, menu: Menu) -> dict[str, str]:
        """The parts that do not come with Regard, and where they come from."""
        parts = {"model": self.model, "task": self.task, "training": self.training}
        return {name: by for slot, part in parts.items() if part for name, by in menu.needs(slot, part).items()}

    def table(self) -> dict[str, Any]:
        """Plain tables with every default written out."""
        table: dict[str, Any] = {"name": self.name, "about": self.about}
        if self.task is not None:
            task = self.task.table()
            sections = {name: task.pop(name) for name in self.task.slots}
            table |= {"task": task} | sections
        if self.start is not None:
            table["from"] = self.start.table()
        table["model"] = self.model.table()
        return table if self.training is None else table | {"training": self.training.table()}


def _inner_key(key: str, value: Any) -> str:
    """The whole key where a table says one thing alone: `optimizer.lr`."""
    while isinstance(value, Mapping) and len(value) == 1:
        inner, value = next(iter(value.items()))
        key = f"{key}.{inner}"
    return key


def shown_size(size: Size) -> str:
    """12,000, or 24 × 48."""
    return " × ".join(f"{side:,}" for side in size) if isinstance(size, list) else f"{size:,}"


def _ordered_model(table: Mapping[str, Any], menu: Menu, suggest: Suggest) -> Part[Any]:
    """The model of a recipe, with what it says of images in [task] alone; what is wrong with that is said of [task]."""
    model, task = table["model"], table.get("task")
    said = {key: task[key] for key in SAID_ONCE if key in task} if isinstance(task, Mapping) else {}
    told = {"kind": model} if isinstance(model, str) else model
    kind = told.get("kind") if said and isinstance(told, Mapping) else None
    known = menu.slots["model"].parts.get(kind) if isinstance(kind, str) else None
    more = {} if known is None else {key: one for key, one in said.items() if key in known.model_fields}
    try:
        return menu.order("model", more | dict(told) if more else model, "model", suggest)
    except RecipeError as error:
        place, _, what = str(error).partition(": ")
        key = place.removeprefix("model.").partition("[")[0]
        if key not in more or key in told:
            raise
        raise RecipeError(f"task{place.removeprefix('model')}: {what}") from None


def recipes() -> dict[str, str]:
    """The recipes that come with Regard: name and what they are about."""
    return {path.stem: str(read(str(path)).get("about", "")) for path in sorted(shelf().glob("*.toml"))}


def named(recipe: str | Path) -> str:
    """What a recipe is called that does not say it: its file, or its run."""
    return Path(recipe).name if is_run(recipe) else Path(recipe).stem
