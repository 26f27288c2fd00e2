"""From a recipe to a model."""

from collections.abc import Iterable, Mapping
from typing import Any

from regard.model.assembly import Assembly
from regard.model.menu import MENU
from regard.recipe import Recipe


def open_recipe(recipe: str | Mapping[str, Any] | Recipe, overrides: Iterable[str] = ()) -> Recipe:
    """A recipe by name, path or tables, checked against the menu."""
    return Recipe.resolve(recipe, MENU, overrides)


def build(recipe: str | Mapping[str, Any] | Recipe, *overrides: str) -> Assembly:
    """A model, freshly initialised: `build("gpt", "model.decoder.layers=4")`."""
    built: Assembly = open_recipe(recipe, overrides).model.build()
    return built
