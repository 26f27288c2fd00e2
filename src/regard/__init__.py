"""Regard: every sequence model of the notes, as a choice in a recipe."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Every verb of the command line is a call of the same name; torch is imported on first use.
_CALLS = {
    "menu": "regard.model.menu",
    "recipes": "regard.recipe",
    "describe": "regard.model.describe",
    "build": "regard.model.build",
    "watch": "regard.model.watch",
    "Recipe": "regard.recipe",
    "train": "regard.training.train",
    "evaluate": "regard.verbs",
    "translate": "regard.verbs",
    "align": "regard.verbs",
    "open_run": "regard.trained",
    "bench_attention": "regard.measuring.attention",
}


def __getattr__(name: str) -> Any:
    if name not in _CALLS:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    return getattr(import_module(_CALLS[name]), name)
