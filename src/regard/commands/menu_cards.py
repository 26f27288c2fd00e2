"""The menu's texts without torch: as they were written down when Regard was made, if that is still what the code says.

`make generated` writes them. Whoever changes an option, adds an entry or loads a plugin is told by the code itself.
"""

import ast
import hashlib
import os
import sys
from importlib.metadata import entry_points
from pathlib import Path

from regard.disk import read_json, read_text
from regard.disk.shelf import shelf
from regard.recipe.cards import Cards

FILE = "menu.json"
LIVE = "regard.training.menu"
SOURCES = ("datasets", "decoding", "model", "tasks", "training", "recipe/part.py")
TELLING = ("Doc(", "Slot(", "choose(")


def cards() -> Cards:
    """All slots, choices and options."""
    return _kept() or live_cards()


def live_cards() -> Cards:
    """What the code says, plugins included: this imports all of it."""
    from regard.training.menu import MENU

    return Cards.of(MENU)


def _kept() -> Cards | None:
    """What was written down, unless a plugin may have added to it or the code has changed."""
    if LIVE in sys.modules or os.environ.get("REGARD_PLUGINS") or entry_points(group="regard.plugins"):
        return None
    try:
        kept = read_json(shelf() / FILE, links=True)
        return Cards.read(kept) if kept["signatures"] == signatures() else None
    except (OSError, ValueError, KeyError, TypeError):  # made anew from what there is
        return None


def signatures() -> str:
    """A digest of all that the menu's texts are made of: lists of slots, signatures, sentences and docstrings."""
    package, digest = Path(__file__).parents[1], hashlib.sha256()
    for source in SOURCES:
        for path in sorted((package / source).rglob("*.py")) or [package / source]:
            text = read_text(path, links=True)
            if any(word in text for word in TELLING):
                digest.update("\n".join([path.name, *_telling(ast.parse(text))]).encode())
    return digest.hexdigest()[:16]


def _telling(module: ast.Module) -> list[str]:
    """Of a module: what its names stand for, and of its classes the docstring and the constructor's parameters."""
    found: list[str] = []
    for node in module.body:
        if isinstance(node, ast.Assign):
            found.append(ast.dump(node))
        elif isinstance(node, ast.ClassDef):
            makers = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
            found += [node.name, ast.get_docstring(node) or "", *(ast.dump(maker.args) for maker in makers)]
    return found
