"""Recipes as files: TOML in, TOML out, `a.b=c` in between."""

import os
import tomllib
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import tomli_w

from regard.errors import RecipeError
from regard.recipe.errors import nearest


def shelf() -> Path:
    """The folder of recipes that come with Regard."""
    beside = Path(__file__).parents[3] / "recipes"
    return beside if beside.is_dir() else Path(str(files("regard") / "recipes"))


def find(name: str) -> Path:
    """A recipe by path, or by its name on the shelf."""
    path = Path(name)
    if path.suffix == ".toml" or path.is_file():
        if not path.is_file():
            raise RecipeError(f"{name}: no such file; `regard recipes` lists those that come with Regard")
        return path
    known = {recipe.stem: recipe for recipe in sorted(shelf().glob("*.toml"))}
    if name not in known:
        raise RecipeError(f"{name}: no such recipe or file{nearest(name, known)}\n`regard recipes` lists them all")
    return known[name]


def read(name: str, overrides: Iterable[str] = ()) -> dict[str, Any]:
    """The tables of a recipe, with `a.b=c` overrides put in place."""
    path = find(name)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not TOML: {error}") from error
    for override in overrides:
        _put(table, override)
    return table


def write(path: Path, table: dict[str, Any]) -> None:
    """Write a recipe whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(tomli_w.dumps(table), encoding="utf-8")
    os.replace(part, path)


def _put(table: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    steps = key.strip().split(".")
    if not equals or not all(steps):
        raise RecipeError(f"{override!r}: wanted key.key=value, such as model.decoder.layers=4")
    for step in steps[:-1]:
        below = table.setdefault(step, {})
        if isinstance(below, str):  # `norm = "rms"` is short for a table with only a kind
            below = table[step] = {"kind": below}
        if not isinstance(below, dict):
            raise RecipeError(f"{key}: {step!r} is a value, so nothing can be set below it")
        table = below
    if steps[-1] == "kind" and table.get("kind") != _value(text):
        table.clear()  # another kind has other options: the old ones would only be in the way
    table[steps[-1]] = _value(text)


def _value(text: str) -> Any:
    """A TOML value; what is no TOML value is a word."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()
