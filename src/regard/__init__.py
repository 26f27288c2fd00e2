"""Regard: every sequence model of the notes, as a choice in a recipe."""

import os
from importlib import import_module
from typing import Any

# Large tensors on huge pages: far fewer page faults. Read once, at torch's first allocation.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

__version__ = "0.1.0"

# Every verb of the command line is a call of the same name; torch is imported on first use.
_CALLS = {
    "menu": "regard.model.menu",
    "recipes": "regard.recipe",
    "describe": "regard.model.describe",
    "build": "regard.model.build",
    "watch": "regard.model.watch",
    "Recipe": "regard.recipe",
    "bench_attention": "regard.bench.attention",
}


def __getattr__(name: str) -> Any:
    if name not in _CALLS:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    return getattr(import_module(_CALLS[name]), name)
