"""A slim copy of a run to hand on: what it takes to use it, a card, and nothing of the machine it was made on."""

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from regard.disk import place, write
from regard.errors import InputError
from regard.listener import SILENT, Listener
from regard.run.card import CARD, card
from regard.run.run import Run
from regard.run.slim import check_slim, slim_run

GIVEN = ("data", "files", "made", "versions", "steps", "parameters", "splits", "diverged", "plugins", "origin")
WORD = re.compile(r"""(?<![\w.])(~?/[^\s'"\]=,]+|[A-Za-z]:\\[^\s'"\]=,]+)""")


def pack(source: Run, out: str | Path, uses: tuple[str, str], listener: Listener = SILENT) -> Run:
    """Copy what it takes to use a run into a new folder: its best weights, recipe, the task's files and a card.

    `uses` are the commands that use such a run and that begin another from it, with {run} for its folder.
    """
    folder = place(out)
    if folder.resolve().is_relative_to(source.folder.resolve()):
        raise InputError(f"{out}: inside the run itself; name another folder")
    check_slim(folder)
    best = source.for_use(listener)
    progress = {"step": best.step, "scores": best.progress().get("scores", {})}
    facts = {key: source.facts[key] for key in GIVEN if key in source.facts}
    commands = [without_paths(str(command)) for command in source.facts.get("commands", [])]
    origin = source.facts.get("from")
    facts |= {key: without_paths(facts[key]) for key in ("plugins", "splits", "origin") if key in facts}
    facts |= {"commands": commands} | ({"from": without_paths(origin)} if origin else {})
    scores = [without_paths(one) for one in source.scores() if one.get("step") == best.step]
    recipe = without_paths(source.recipe)
    with slim_run(folder, recipe, source.files, facts, best.weights(), progress) as made:
        for one in reversed(scores):
            made.keep_scores(
                one["scores"],
                step=best.step,
                on=one.get("on", ""),
                split=one.get("split", ""),
                how=one.get("how", []),
                learnt=one.get("learnt"),
            )
        write(folder / CARD, card(made, best.step, uses).encode(errors="replace"))
    return made


def without_paths(value: Any) -> Any:
    """The same with every absolute path reduced to its last name, whether it is a text or stands in one."""
    if isinstance(value, Mapping):
        return {key: without_paths(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_paths(inner) for inner in value]
    if not isinstance(value, str):
        return value
    for kind in (PurePosixPath, PureWindowsPath):
        if kind(value).is_absolute():
            return kind(value).name
    return WORD.sub(lambda found: _name(found[0]), value)


def _name(path: str) -> str:
    return (PureWindowsPath if "\\" in path else PurePosixPath)(path).name
