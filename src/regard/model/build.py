"""From a recipe to a model."""

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from regard.model.assembly import Assembly
from regard.model.bounds import check_sizes, counted
from regard.model.menu import MENU
from regard.recipe import Recipe
from regard.recipe.override import Override


def open_recipe(recipe: str | PathLike[str] | Mapping[str, Any] | Recipe, overrides: Iterable[Override] = ()) -> Recipe:
    """A recipe by name, path or tables, checked against the menu."""
    return Recipe.resolve(recipe, MENU, overrides)


def build(recipe: str | PathLike[str] | Mapping[str, Any] | Recipe, *overrides: Override) -> Assembly:
    """A model, freshly initialised: `build("gpt2", "model.decoder.layers=4")`."""
    part = open_recipe(recipe, overrides).model
    check_sizes(part)
    with counted():
        built: Assembly = part.build()
    return built
