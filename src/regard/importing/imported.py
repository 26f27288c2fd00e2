"""A model of another maker as Regard has it: what a run is made of."""

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from regard.datasets.tokenizer import Tokenizer
from regard.errors import InputError, RecipeError
from regard.model.menu import MENU
from regard.model.weights import named, shell
from regard.recipe import Recipe
from regard.tasks.classification.facts import Facts


@dataclass(frozen=True)
class Imported:
    """A pretrained language model, complete: nothing of where it came from is needed any more."""

    name: str
    recipe: dict[str, Any]
    """Tables with a complete [model]."""
    weights: dict[str, Tensor] = field(repr=False)
    """By the names of Regard's own model, in float32, each once."""
    tokenizer: Tokenizer
    context: int
    """Positions it was trained for."""
    stop_tokens: tuple[int, ...]
    """A text ends with any of these."""
    chat_template: str | None = field(repr=False)
    origin: dict[str, Any]
    """Family, files with their sha256, licence if one is named."""
    add_bos: bool = False
    """Whether a text begins with the tokenizer's `bos`, as in training; a chat template writes its own."""
    sampling: dict[str, float] = field(default_factory=dict)
    """How its makers draw the next token, where they say so: temperature and what else there is."""


@dataclass(frozen=True)
class ImportedClassifier:
    """A pretrained image classifier, complete: nothing of where it came from is needed any more."""

    name: str
    recipe: dict[str, Any]
    """Tables with a complete [model]."""
    weights: dict[str, Tensor] = field(repr=False)
    """By the names of Regard's own model, in float32."""
    facts: Facts
    """Names of classes, and how images are made ready for it."""
    origin: dict[str, Any]
    """Family, files with their sha256, licence if one is named."""


def complete(family: str, table: dict[str, Any], name: str, source: str) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """The recipe with every default written out, and the shapes of its model's weights; nothing large is made."""
    try:
        recipe = Recipe.check({"name": name, "about": f"{family}, imported", "model": table}, MENU)
        model = shell(recipe.model.build)
    except RecipeError as error:
        raise InputError(f"{source}: {error}") from error
    return recipe.table(), {name: list(tensor.shape) for name, tensor in named(model).items()}
