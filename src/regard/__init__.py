"""Regard: every sequence model of the notes, as a choice in a recipe.

Verbs of the command line are calls of the same name: `train`, `evaluate`, `translate`, `describe`, …; to import
is `import_model`.
What parts of your own are made of is in `regard.extend`; `menu().add(…)` puts them on the menu.
"""

import os
import sys

# `python -m regard` has the current folder before the standard library: out with it before anything else is imported.
# The module's name stands before the arguments: a word of its own, or after the m of `-m` or `-Bm`.
_word = "".join(sys.orig_argv[-len(sys.argv) :][:1]) if sys.argv[:1] == ["-m"] else ""
_module = (_word.partition("m")[2] if _word[:1] == "-" else _word).partition(".")[0]
_home = os.path.dirname(os.path.dirname(__file__))
if _module == "regard" and not sys.flags.safe_path and sys.path[0] != _home:
    del sys.path[0]

from importlib import import_module
from typing import TYPE_CHECKING

from regard.version import __version__ as __version__

if TYPE_CHECKING:
    from regard import extend
    from regard.calls.bench import Measured, bench
    from regard.calls.data import DataList, data
    from regard.calls.examples import look_examples
    from regard.calls.menus import RecipeList, menu, recipes
    from regard.calls.runs import RunList, pack, runs
    from regard.calls.training import plan, train
    from regard.calls.use import align, classify, evaluate, generate, look, restore, score, translate
    from regard.errors import DivergedError, FailedError, InputError, RecipeError, RegardError
    from regard.examples.example import Story
    from regard.import_run import import_model
    from regard.listener import Listener
    from regard.looking.alignment import Alignment
    from regard.looking.look import Look
    from regard.markup import Answers
    from regard.model.build import build
    from regard.model.describe import Description
    from regard.model.watch import watch
    from regard.recipe import Menu, Recipe, Slot
    from regard.recipe.plugins import plugin
    from regard.run import Run
    from regard.run.curve import Curve
    from regard.run.overview import Overview
    from regard.tasks.classification import Classified
    from regard.tasks.language.scorer import ScoredText
    from regard.tasks.language.writing import Generated
    from regard.tasks.restoration import Restored
    from regard.tasks.task import Evaluation, Table
    from regard.tasks.translation import Translated
    from regard.trained import Trained, open_run
    from regard.training.describe import describe
    from regard.training.events import Ended, Event, Prepared, Saved, Started, Step, Validated
    from regard.training.plan import Plan

# What is offered, and where it is: torch is imported on first use. The imports above are what type checkers read.
_PLACES = {
    "regard.calls.bench": ("Measured", "bench"),
    "regard.calls.data": ("DataList", "data"),
    "regard.calls.examples": ("look_examples",),
    "regard.calls.menus": ("RecipeList", "menu", "recipes"),
    "regard.calls.runs": ("RunList", "pack", "runs"),
    "regard.calls.training": ("plan", "train"),
    "regard.calls.use": ("align", "classify", "evaluate", "generate", "look", "restore", "score", "translate"),
    "regard.errors": ("DivergedError", "FailedError", "InputError", "RecipeError", "RegardError"),
    "regard.examples.example": ("Story",),
    "regard.import_run": ("import_model",),
    "regard.listener": ("Listener",),
    "regard.looking.alignment": ("Alignment",),
    "regard.looking.look": ("Look",),
    "regard.markup": ("Answers",),
    "regard.model.build": ("build",),
    "regard.model.describe": ("Description",),
    "regard.model.watch": ("watch",),
    "regard.recipe": ("Menu", "Recipe", "Slot"),
    "regard.recipe.plugins": ("plugin",),
    "regard.run": ("Run",),
    "regard.run.curve": ("Curve",),
    "regard.run.overview": ("Overview",),
    "regard.tasks.classification": ("Classified",),
    "regard.tasks.language.writing": ("Generated",),
    "regard.tasks.language.scorer": ("ScoredText",),
    "regard.tasks.restoration": ("Restored",),
    "regard.tasks.task": ("Evaluation", "Table"),
    "regard.tasks.translation": ("Translated",),
    "regard.trained": ("Trained", "open_run"),
    "regard.training.describe": ("describe",),
    "regard.training.events": ("Ended", "Event", "Prepared", "Saved", "Started", "Step", "Validated"),
    "regard.training.plan": ("Plan",),
}

__all__ = [
    "Alignment",
    "Answers",
    "Classified",
    "Curve",
    "DataList",
    "Description",
    "DivergedError",
    "Ended",
    "Evaluation",
    "Event",
    "FailedError",
    "Generated",
    "InputError",
    "Listener",
    "Look",
    "Measured",
    "Menu",
    "Overview",
    "Plan",
    "Prepared",
    "Recipe",
    "RecipeError",
    "RecipeList",
    "RegardError",
    "Restored",
    "Run",
    "RunList",
    "Saved",
    "ScoredText",
    "Slot",
    "Started",
    "Step",
    "Story",
    "Table",
    "Trained",
    "Translated",
    "Validated",
    "align",
    "bench",
    "build",
    "classify",
    "data",
    "describe",
    "evaluate",
    "extend",
    "generate",
    "import_model",
    "look",
    "look_examples",
    "menu",
    "open_run",
    "pack",
    "plan",
    "plugin",
    "recipes",
    "restore",
    "runs",
    "score",
    "train",
    "translate",
    "watch",
]

if not TYPE_CHECKING:  # type checkers would take every name for one that is here, of any type

    def __getattr__(name):
        if name == "extend":
            return import_module("regard.extend")
        for module, names in _PLACES.items():
            if name in names:
                return getattr(import_module(module), name)
        raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
