"""Recipes as files: TOML in, `a.b=c` put in place."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from regard.disk import parse_toml, place, read_bytes
from regard.disk.parsing import LARGEST_TOML
from regard.disk.shelf import shelf
from regard.errors import InputError, RecipeError
from regard.recipe.errors import nearest
from regard.recipe.override import Override, pairs

RUN_RECIPE = "recipe.toml"
SHELF = {"call": "regard.recipes()", "flag": "`regard recipes`"}


def is_run(name: str | Path) -> bool:
    """Whether a name is that of a run folder."""
    return (place(name) / RUN_RECIPE).is_file()


def find(name: str) -> Path:
    """A recipe by path, by its name on the shelf, or that of a run folder."""
    path = place(name)
    if is_run(path):
        return path / RUN_RECIPE
    if path.suffix == ".toml" or path.is_file():
        if not path.is_file():
            raise RecipeError(f"{name}: no such file; there are some that come with Regard: ", **SHELF)
        return path
    known = {recipe.stem: recipe for recipe in sorted(shelf().glob("*.toml"))}
    if name not in known:
        raise RecipeError(f"{name or 'recipe'}: no such recipe or file{nearest(name, known)}\nall of them: ", **SHELF)
    return known[name]


def read(name: str, overrides: Iterable[Override] = ()) -> dict[str, Any]:
    """The tables of a recipe, with `a.b=c` overrides put in place."""
    path = find(name)
    try:
        table = parse_toml(read_bytes(path, links=path.name != RUN_RECIPE, most=LARGEST_TOML).decode())
    except InputError as error:
        raise RecipeError(str(error)) from error
    except ValueError as error:
        raise RecipeError(f"{path}: not TOML: {error}") from error
    return put(table, overrides)


def put(table: dict[str, Any], overrides: Iterable[Override]) -> dict[str, Any]:
    """A table with overrides in place. What is chosen comes before what is said about it, in whatever order given."""
    parsed = [pair for override in overrides for pair in pairs(override)]
    for steps, value in sorted(parsed, key=lambda one: _depth(one[0])):
        _put(table, steps, value)
    return table


def keys(overrides: Iterable[Override]) -> list[str]:
    """The keys that overrides set."""
    return [".".join(steps) for override in overrides for steps, _ in pairs(override)]


def _depth(steps: list[str]) -> tuple[int, bool]:
    """A kind belongs to the table it stands in: after the table itself, before all else in it."""
    chooses = steps[-1] == "kind"
    return len(steps) - chooses, chooses


def _put(table: dict[str, Any], steps: list[str], value: Any) -> None:
    for step in steps[:-1]:
        below = table.setdefault(step, {})
        if isinstance(below, str):  # `norm = "rms"` is short for a table with only a kind, `from` for one with a run
            below = table[step] = {"run" if step == "from" else "kind": below}
        if not isinstance(below, dict):
            raise RecipeError(f"{'.'.join(steps)}: {step!r} is a value, so nothing can be set below it")
        table = below
    if steps[-1] == "kind" and table.get("kind") != value:
        table.clear()  # another kind has other options: the old ones would only be in the way
    table[steps[-1]] = value
