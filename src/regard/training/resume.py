"""Going on with a run: from which state, with which changes, and for how much longer."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from regard.errors import InputError, RecipeError
from regard.figures import steps
from regard.listener import SILENT, Listener
from regard.model.weights import fitted
from regard.recipe import Recipe
from regard.recipe.override import plain
from regard.recipe.plugins import check_needs
from regard.run import STATE, Checkpoint, Run
from regard.tasks.task import Task
from regard.training.menu import MENU
from regard.training.settings import TrainingOptions

MACHINE = ("device", "parallel", "matmul", "threads")
KEPT = ("validate_every", "save_every", "keep", "patience", "tensorboard")
LONGER = ("training.minutes", "training.steps", "training.epochs")
FREE = (
    *LONGER,
    *(f"training.machine.{key}" for key in MACHINE),
    *(f"training.checkpoints.{key}" for key in KEPT),
)
"""What may change when a run goes on: how long, on what machine, when it is looked at and saved. None of these changes
what a step does, unless the schedule looks ahead to the end; all else would make it another run."""


def newest(run: Run, listener: Listener) -> Checkpoint | None:
    """The state to go on from; None where the run was ended before it saved one, and begins again."""
    found = run.newest(listener, to_resume=True)
    if found is None:
        listener.say(f"{run.folder}: nothing was saved in it yet; it begins again")
    elif run.diverged is not None:
        listener.say(
            f"{run.folder}: this run diverged at step {run.diverged:,}, and goes on from step {found.step:,} as it did "
            f"then; with another learning rate, {_from(run)}"
        )
    return found


def check_whole(run: Run) -> None:
    """Refuse at once a run that has nothing to go on from, though it once had, or weights that its recipe does not
    ask for."""
    if "packed" in run.facts:
        raise InputError(f"{run.folder}: a packed run, made to be used: it has no state to go on from; {_from(run)}")
    there = run.checkpoints()
    if there and not any((one.folder / STATE).exists() for one in there):
        raise InputError(f"{run.folder}: weights without the state of training ({STATE}); {_from(run)}")
    whole = run.newest(SILENT, to_resume=True)
    if there and whole is None:
        raise InputError(f"{run.folder}: none of its checkpoints is whole; {run.anew}")
    run.check_there()
    check_needs(run.folder, MENU.parts)
    if whole is not None:
        fitted(Recipe.check(run.recipe, MENU).model, whole.shapes())


def check_keys(run: Run, recipe: Recipe) -> None:
    """Refuse another recipe before any data are read, where it is the run's own with changes: its sizes are known."""
    old, new = _flat(run.recipe.items()), _flat(recipe.table().items())
    _changed(run, old, new, old.keys() | new.keys())


def check_same(run: Run, recipe: Recipe, task: Task) -> dict[str, Any]:
    """A run goes on with its own recipe and its own data, or not at all; which of the free keys are others now."""
    old, new = _flat(run.recipe.items()), _flat(recipe.table().items())
    changed = _changed(run, old, new, old.keys() | new.keys())
    if run.facts.get("data") != task.data.fingerprint():
        raise InputError(f"{run.folder}: the data are not those this run began with; {_from(run)}")
    return changed


def _changed(run: Run, old: Mapping[str, Any], new: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """Of some keys, the free ones that are others now; another that is not free is refused."""
    changed = {}
    for key in sorted(keys, key=lambda key: (key.rpartition(".")[0], not key.endswith(".kind"), key)):
        if key in ("name", "about") or old.get(key) == new.get(key):
            continue
        if key not in FREE:
            raise RecipeError(
                f"{key}: the run in {run.folder} has {old.get(key, 'none')!r}, now it says {new.get(key, 'none')!r}\n"
                f"go on with the run's own recipe, or {_from(run)}"
            )
        changed[key] = new[key]
    return changed


def check_longer(
    run: Run, recipe: Recipe, changed: Mapping[str, Any], epoch: int, checkpoint: Checkpoint | None, listener: Listener
) -> None:
    """Refuse to train for fewer steps than before; say what more steps mean for the schedule."""
    before: TrainingOptions = Recipe.check(run.recipe, MENU).wants("training").build()
    now: TrainingOptions = recipe.wants("training").build()
    if "training.epochs" in changed and now.steps and "training.steps" not in changed:
        raise RecipeError(f"training.epochs: this run counts steps; say training.steps=N, more than {now.steps:,}")
    old, new = before.total(epoch), now.total(epoch)
    if new < old:
        key = next(key for key in LONGER if key in changed)
        raise RecipeError(f"{key}: {new:,} steps are fewer than the {old:,} this run is to take; say more")
    done = 0 if checkpoint is None else checkpoint.step
    if done >= new:
        longer = f"training.epochs={before.epochs + 1}" if not before.steps else f"training.steps={2 * new}"
        longer = f"training.minutes={2 * now.minutes:g}" if now.minutes else longer
        listener.say(f"{run.folder}: it has taken its {steps(new)}; to train it for longer, say {longer}")
    if new > old and any(now.schedule.factor(s, old) != now.schedule.factor(s, new) for s in _some(done)):
        kind = recipe.wants("training").table()["schedule"]["kind"]
        last, goes_on = now.schedule.factor(max(0, done - 1), old), now.schedule.factor(done, new)
        listener.say(
            f"training.schedule: {kind} goes by the steps in all: from step {done:,} on it is that of {new:,} steps "
            f"(the factor goes from {last:.3g} to {goes_on:.3g}), so this is not what {new:,} steps from the start are"
        )
    patience = now.checkpoints.patience
    if new > old and run.facts.get("ended") == "patience" and patience == before.checkpoints.patience:
        listener.say("it ended because it got no better; training.checkpoints.patience=0 lets it go on all the same")


def changed_recipe(run: Run, changed: Mapping[str, Any]) -> dict[str, Any]:
    """The run's recipe with what is to stay changed: all but the machine."""
    table: dict[str, Any] = plain(run.recipe)
    for key, value in changed.items():
        if not key.startswith("training.machine."):
            *above, last = key.split(".")
            inner = table
            for step in above:
                inner = inner[step]
            inner[last] = value
    return table


def _from(run: Run) -> str:
    """How another run is begun where this one ended."""
    return f"begin a new run from its weights: {shlex.quote(f'from={run.folder}')}"


def _some(done: int) -> Iterable[int]:
    """Steps that were taken: all, or a thousand of them."""
    return range(0, done, max(1, done // 1000))


def _flat(table: Iterable[tuple[str, Any]], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table:
        flat |= _flat(value.items(), f"{above}{key}.") if isinstance(value, Mapping) else {above + key: value}
    return flat
