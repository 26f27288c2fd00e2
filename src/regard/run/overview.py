"""What runs say of themselves, for lists: facts, figures and sizes, with no tensor read and no torch imported."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.disk import place, remove, room
from regard.errors import InputError
from regard.figures import figure, size
from regard.recipe.read import is_run
from regard.run import history
from regard.run.checkpoint import Checkpoint
from regard.run.create import FACTS
from regard.run.lock import CHECKPOINTS, held, holder
from regard.run.run import Run

DEEP = 3  # folders below the one that is asked for


HEADS = ("run", "task", "recipe", "best", " steps", " size", " age", "state")


@dataclass(frozen=True)
class Overview:
    """One run in figures. `state`: training, done, patience, stopped, not begun, diverged, packed or damaged."""

    folder: Path
    name: str
    state: str
    task: str = ""
    parameters: int = 0
    step: int = 0
    steps: int = 0
    best_by: str = ""
    best_step: int = 0
    scores: dict[str, Any] | None = None
    bytes: int = 0
    changed: float = 0.0
    said: str = ""
    """What is wrong with it, where something is."""

    @property
    def best(self) -> str:
        """The best score in a word, such as `bleu 31.4`."""
        value = (self.scores or {}).get(self.best_by)
        return f"{self.best_by} {figure(self.best_by, value)}" if isinstance(value, int | float) else ""

    def row(self) -> tuple[str, ...]:
        """What a list of runs says of it, under `HEADS`."""
        steps = f"{self.step:,}/{self.steps:,}" if self.step < self.steps else f"{self.step:,}"
        return (str(self.folder), self.task, self.name, self.best, steps, size(self.bytes), self.age, self.state)

    @property
    def age(self) -> str:
        """How long ago anything changed in it."""
        passed = max(0.0, time.time() - self.changed)
        for unit, seconds in (("d", 86400), ("h", 3600), ("min", 60)):
            if passed >= seconds:
                return f"{passed / seconds:.0f} {unit}"
        return f"{passed:.0f} s"


def runs(folder: str | Path = "runs") -> list[Overview]:
    """The runs in a folder and a little below it, those that changed last first."""
    top = place(folder)
    if not top.is_dir():
        raise InputError(f"{folder}: no such folder; name one that holds runs (training makes them in runs/)")
    return sorted((overview(path) for path in _below(top, DEEP)), key=lambda one: (-one.changed, str(one.folder)))


def overview(folder: Path, thorough: bool = False) -> Overview:
    """One run, however damaged. `thorough` reads its checkpoints, where else their lengths are looked at."""
    stats = list(_stats(folder, DEEP))
    bytes_held, changed = sum(stat.st_size for stat in stats), max((stat.st_mtime for stat in stats), default=0.0)
    try:
        return _whole(Run.open(folder), bytes_held, changed, thorough)
    except (InputError, OSError, AttributeError, TypeError, ValueError) as error:  # whoever wrote it did not mean it so
        return Overview(folder, folder.name, "damaged", bytes=bytes_held, changed=changed, said=str(error))


def _stats(folder: Path, deep: int) -> "Iterator[os.stat_result]":
    """Sizes and times of the files in a run; nothing of it stands deeper."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    yield entry.stat(follow_symlinks=False)
                elif deep and entry.is_dir(follow_symlinks=False):
                    yield from _stats(folder / entry.name, deep - 1)


def _whole(run: Run, held_bytes: int, changed: float, thorough: bool) -> Overview:
    table, facts, saved = run.recipe, run.facts, run.checkpoints()
    task = table["task"] if isinstance(table.get("task"), dict) else {"kind": table.get("task", "")}
    last = _last_step(run)
    best = run.best() or (saved[0] if saved else None)
    said = "" if best is None or holder(run.folder) is not None else _damage(best, saved, thorough)
    progress = best.manifest().get("progress", {}) if best is not None else {}
    done = max(last, saved[0].step if saved else 0)
    state = "damaged" if said else _state(run, done)
    return Overview(
        folder=run.folder,
        name=str(table.get("name", run.folder.name)),
        state=state,
        task=str(task.get("kind", "")),
        parameters=int(facts.get("parameters", 0)),
        step=done,
        steps=int(facts.get("steps", 0)),
        best_by=str(table.get("training", {}).get("checkpoints", {}).get("best_by", "loss")),
        best_step=best.step if best is not None else 0,
        scores=dict(progress.get("scores", {})),
        bytes=held_bytes,
        changed=changed,
        said=said,
    )


def _damage(best: Checkpoint, saved: list[Checkpoint], thorough: bool) -> str:
    """What is wrong with the checkpoint that answers, or else the newest, which training goes on from; and what is
    left."""
    faults = dict[Checkpoint, str]()
    for checkpoint in dict.fromkeys([best, *saved]):
        try:
            checkpoint.check_all() if thorough else checkpoint.check_lengths()
        except (InputError, OSError) as error:
            faults[checkpoint] = str(error)
    whole = [checkpoint for checkpoint in saved if checkpoint not in faults]
    wrong = [checkpoint for checkpoint in (best, saved[0]) if checkpoint in faults]
    if not wrong:
        return ""
    left = f"step {whole[0].step:,} is whole" if whole else "no checkpoint is whole"
    return f"{faults[wrong[0]]}; {left}"


def _state(run: Run, done: int) -> str:
    if holder(run.folder) is not None:
        return "training"
    if run.diverged is None:
        run.check_there()
    if "packed" in run.facts:
        return "packed"
    ended = run.facts.get("ended")
    if isinstance(ended, str) and ended != "stopped":
        return ended
    return "stopped" if done or ended else "not begun"


def _last_step(run: Run) -> int:
    """The last one that was logged."""
    entries = history.entries(run.folder)
    return max((entry["step"] for entry in entries if isinstance(entry.get("step"), int)), default=0)


def _below(folder: Path, deep: int) -> list[Path]:
    """Run folders; nothing below a run is one, and links are not followed."""
    if is_run(folder):
        return [folder]
    if not deep:
        return []
    inner = [path for path in sorted(folder.iterdir()) if path.is_dir() and not path.is_symlink()]
    return [run for path in inner for run in _below(path, deep - 1)]


def removable(folder: str | Path) -> Path:
    """A folder that is a run, whole or damaged, and no link."""
    path = place(folder)
    if path.is_symlink():
        raise InputError(f"{folder}: a link; name the run itself")
    if not is_run(path) or not ((path / FACTS).is_file() or (path / CHECKPOINTS).is_dir()):
        raise InputError(f"{folder}: not a run folder; nothing was removed")
    return path


def remove_run(folder: str | Path) -> Overview:
    """Remove a run folder and all that is in it: no link is followed, and a run in which somebody trains stays."""
    path = removable(folder)
    found = overview(path)
    with held(path), room(path):
        remove(path)
    return found
