"""Beginning with the weights of another run, all of them or those of some parts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from regard.errors import InputError, RecipeError
from regard.listener import Listener
from regard.model.assembly import Assembly
from regard.model.weights import fitted, named, stretched
from regard.recipe import Recipe
from regard.recipe.errors import nearest
from regard.recipe.plugins import check_needs
from regard.run import WEIGHTS, Checkpoint, Run
from regard.run.told import licence_lines
from regard.tasks.task import Task
from regard.training.menu import MENU
from regard.training.settings import Start

SHOWN = 6


@dataclass(frozen=True)
class Base:
    """The run that another one begins from: its best checkpoint, and what of it is asked for."""

    run: Run
    recipe: Recipe
    checkpoint: Checkpoint
    sections: tuple[str, ...]
    """Sections whose outcome is taken over from it, such as its tokenizers."""
    shell: Assembly
    """Its model without numbers: images of another size have their positions drawn out of its."""

    def hand_over(self, task: Task) -> None:
        """Give a task what was learnt for these sections, and what goes with the weights anyway."""
        task.follow(self.run.files)
        for section in self.sections:
            task.inherit(section, self.run.files)

    def facts(self) -> dict[str, Any]:
        """Where a run came from, as the run keeps it."""
        digest = self.checkpoint.manifest()["sha256"].get(WEIGHTS)
        licence = "; ".join(dict.fromkeys(licence_lines(self.run.facts).values()))
        facts = {"run": str(self.run.folder.absolute()), "step": self.checkpoint.step, "sha256": digest}
        return facts | {"licence": licence}

    def scores(self, task: Task) -> dict[str, Any]:
        """How good it was on the validation data of a task; nothing of a run with other data or another vocabulary."""
        scores = self.checkpoint.progress().get("scores")
        same = self.run.facts.get("data") == task.data.fingerprint() and {*task.inherits} <= {*self.sections}
        return {"scores": scores} if same and isinstance(scores, dict) and scores else {}

    def fill(self, model: Assembly, start: Start, task: Task) -> tuple[int, list[str]]:
        """Copy the weights asked for into a model; how many tensors that were, and which stay as they were drawn."""
        wanted, there = named(model), stretched(self.checkpoint.weights(), self.shell, model)
        anew = [*start.fresh]
        for section, parts in type(task).inherits.items():
            anew += parts if section not in self.sections else ()
        anew += [] if start.parts else task.outgrown(self.run.files)
        fresh = [name for name in wanted if _in(name, anew) or (start.parts and not _in(name, start.parts))]
        taken = [name for name in wanted if name not in fresh]
        misfits = [name for name in taken if name not in there or there[name].shape != wanted[name].shape]
        if misfits:
            raise self._misfit(misfits, {name: list(tensor.shape) for name, tensor in wanted.items()}, start)
        with torch.no_grad():
            for name in taken:
                wanted[name].copy_(there[name])
        return len(taken), fresh

    def _misfit(self, names: list[str], wanted: Mapping[str, list[int]], start: Start) -> RecipeError:
        """With the smallest parts that would have to be begun anew."""
        there = self.checkpoint.shapes()
        first, anew = names[0], dict.fromkeys([*start.fresh, *_smallest(names, wanted)])
        said = f"from: {first} is {wanted[first]} here, and {self.run.folder} has {there.get(first, 'no such tensor')}"
        if all(_in(name, anew) for name in wanted):
            return RecipeError(f"{said}\nnone of its parts fits; leave out from=, or keep model as it is there")
        return RecipeError(f"{said}\nbegin what does not fit anew: from.fresh={','.join(anew)}")

    def left_behind(self, model: Assembly, start: Start) -> list[str]:
        """What that run has and this model has no place for, where all was asked for."""
        return [] if start.parts else [name for name in self.checkpoint.shapes() if name not in named(model)]


def open_base(start: Start, sections: Iterable[str], listener: Listener) -> Base:
    """The run that is begun from, its recipe held against its weights before either is made use of."""
    run = Run.open(Path(start.run))
    check_needs(run.folder, MENU.parts)
    checkpoint, recipe = run.for_use(listener), Recipe.check(run.recipe, MENU)
    shell = fitted(recipe.model, checkpoint.shapes())
    return Base(run, recipe, checkpoint, tuple(sections), shell)


def told(base: Base, copied: int, fresh: list[str], left: list[str]) -> str:
    """What was taken over, in a line."""
    said = (
        f"copied {copied:,} of {copied + len(fresh):,} tensors from {base.run.folder} (step {base.checkpoint.step:,})"
    )
    said += f"; fresh: {_few(fresh)}" if fresh else ""
    return said + (f"; left behind: {_few(left)}" if left else "")


def same_base(base: Base, facts: Mapping[str, Any]) -> None:
    """A run that has saved nothing yet begins again from the very weights it began from, or not at all."""
    if facts.get("sha256") != base.facts()["sha256"]:
        raise InputError(f"{base.run.folder}: not the weights any more that were begun from; train a new run")


def check_parts(start: Start, model: Assembly) -> None:
    """Refuse parts that the model does not have."""
    _known(start.parts, [*named(model)], "from.parts")
    _known(start.fresh, [*named(model)], "from.fresh")


def _known(parts: list[str], names: list[str], key: str) -> None:
    for part in parts:
        if not any(_in(name, [part]) for name in names):
            tops = sorted({name.partition(".")[0] for name in names})
            raise RecipeError(f"{key}: no part is called {part!r}{nearest(part, tops)}")


def _in(name: str, parts: Iterable[str]) -> bool:
    return any(name == part or name.startswith(f"{part}.") for part in parts)


def _smallest(misfits: Iterable[str], names: Iterable[str]) -> list[str]:
    """The parts that misfits are in: `decoder.positions`, or `decoder` where something in each part of it misfits."""
    inside: dict[str, set[str]] = {}
    for name in names:
        inside.setdefault(name.partition(".")[0], set()).add(_part(name))
    parts = dict.fromkeys(map(_part, misfits))
    whole = {top for top, some in inside.items() if some <= set(parts) or top in parts}
    return [*dict.fromkeys(top if (top := part.partition(".")[0]) in whole else part for part in parts)]


def _part(name: str) -> str:
    """At most two steps down, and never a single tensor of a part."""
    return ".".join(name.split(".")[:-1][:2])


def _few(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
