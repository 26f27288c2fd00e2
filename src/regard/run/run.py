"""A run folder. Only safetensors, JSON and TOML are ever read from one.

recipe.toml  run.json (format, task, fingerprint of the data, names of the task's files)  log.jsonl  best  last
the task's files: tokenizers, names of classes
checkpoints/step-N/weights.safetensors  state.safetensors  manifest.json

Everything is written under another name, synced and renamed, so that a run killed at any moment
holds nothing half-written; what was left over is swept away at the next start.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import tomli_w

from regard.disk import names_inside, read_bytes, read_json, read_text, read_toml, remove, room, sync, write
from regard.disk.tensors import Tensors, write_tensors
from regard.errors import InputError
from regard.listener import Listener
from regard.recipe.read import RUN_RECIPE, is_run
from regard.run.checkpoint import MANIFEST, STATE, STEP, WEIGHTS, Checkpoint, manifest_of, table_hash
from regard.run.seen import run_html, run_text

FORMAT = 1
FACTS = "run.json"


class Run:
    """A folder in which a model was, is or will be trained."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.facts = _checked(folder)
        self.recipe = read_toml(folder / RUN_RECIPE)

    @classmethod
    def create(
        cls,
        folder: Path,
        recipe: dict[str, Any],
        files: Mapping[str, bytes],
        data: str,
        more: Mapping[str, Any] | None = None,
    ) -> "Run":
        """A new run: its recipe, what its task keeps, the fingerprint of its data, and what else is known of it.

        The recipe is written last, so that a folder with a recipe is whole.
        """
        if is_run(folder):
            raise InputError(f"{folder}: there is a run already; go on with --resume, or choose another --out")
        facts = {"format": FORMAT, "data": data, "files": sorted(files)} | dict(more or {})
        with room(folder):
            (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
            for name, content in files.items():
                write(folder / name, content)
            write(folder / FACTS, json.dumps(facts, indent=2).encode())
            write(folder / RUN_RECIPE, tomli_w.dumps(recipe).encode())
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """A run that is there."""
        if not is_run(folder):
            raise InputError(f"{folder}: not a run folder (no {RUN_RECIPE} in it); `regard train` makes one")
        return cls(folder)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def __str__(self) -> str:
        return run_text(self)

    def _repr_html_(self) -> str:
        return run_html(self)

    @cached_property
    def files(self) -> dict[str, bytes]:
        """What the task has kept."""
        names = names_inside(self.facts.get("files"), self.folder / FACTS)
        return {name: read_bytes(self.folder / name) for name in names}

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Nobody else may train here meanwhile. Sweeps what a killed process left behind."""
        with room(self.folder):
            handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        with os.fdopen(handle, "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InputError(f"{self.folder}: another process is training in it") from error
            for left in [*self.folder.glob("*.part"), *self._checkpoints.glob("*.part")]:
                shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
            yield

    def save(self, step: int, weights: Tensors, state: Tensors, progress: dict[str, Any], keep: int) -> Checkpoint:
        """Write a checkpoint whole or not at all, then let go of old ones: `keep` stay, and the best."""
        final = self._checkpoints / f"step-{step}"
        part = final.with_name(final.name + ".part")
        with room(self.folder):
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            hashes = {"progress": table_hash(progress)}
            for name, tensors in ((WEIGHTS, weights), (STATE, state)):
                hashes[name] = write_tensors(part / name, tensors)
            write(part / MANIFEST, manifest_of(hashes, progress))
            sync(part)
            if final.exists():
                remove(final)
            part.rename(final)
            sync(final.parent)
            self.point("last", final.name)
        self._let_go(keep)
        return Checkpoint(final)

    def amend(self, step: int, progress: dict[str, Any]) -> None:
        """The same tensors, but more is known about them."""
        folder = self._checkpoints / f"step-{step}"
        hashes = Checkpoint(folder).check()["sha256"] | {"progress": table_hash(progress)}
        with room(self.folder):
            write(folder / MANIFEST, manifest_of(hashes, progress))

    def point(self, name: str, at: str) -> None:
        """`best` or `last` → a checkpoint."""
        with room(self.folder):
            write(self.folder / name, at.encode())

    def checkpoints(self) -> list[Checkpoint]:
        """All, the newest first."""
        found = [Checkpoint(path) for path in self._checkpoints.glob("step-*") if STEP.fullmatch(path.name)]
        return sorted(found, key=lambda checkpoint: -checkpoint.step)

    def newest(self, listener: Listener, to_resume: bool = False) -> Checkpoint | None:
        """The newest checkpoint that is whole; damaged ones are named and passed over."""
        for checkpoint in self.checkpoints():
            try:
                checkpoint.check(to_resume)
            except (InputError, OSError) as error:
                listener.say(f"{error}; falling back to the checkpoint before it")
                continue
            return checkpoint
        return None

    def for_use(self, listener: Listener) -> Checkpoint:
        """The best checkpoint, or else the newest that is whole."""
        name = self._best()
        if STEP.fullmatch(name) and (self._checkpoints / name).is_dir():
            best = Checkpoint(self._checkpoints / name)
            try:
                best.check()
                return best
            except (InputError, OSError) as error:
                listener.say(f"{error}; falling back to the newest")
        newest = self.newest(listener)
        if newest is None:
            raise InputError(f"{self.folder}: no whole checkpoint in it yet; `regard train … --resume` goes on")
        return newest

    def log(self, entry: dict[str, Any]) -> None:
        """One line of log.jsonl."""
        with room(self.folder), (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def history(self) -> list[dict[str, Any]]:
        """All whole lines of the log."""
        file = self.folder / "log.jsonl"
        lines = read_text(file).splitlines() if file.is_file() else []
        return [entry for line in lines if isinstance(entry := _parsed(line), dict)]

    def rewind(self, step: int) -> None:
        """Forget what was logged after a step: it will happen again."""
        kept = [json.dumps(entry) + "\n" for entry in self.history() if entry.get("step", 0) <= step]
        with room(self.folder):
            write(self.folder / "log.jsonl", "".join(kept).encode())

    @property
    def _checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    def _best(self) -> str:
        pointer = self.folder / "best"
        return read_text(pointer).strip() if pointer.is_file() else ""

    def _let_go(self, keep: int) -> None:
        best = self._best()
        for checkpoint in self.checkpoints()[keep:]:
            if checkpoint.folder.name != best:
                remove(checkpoint.folder)


def _checked(folder: Path) -> dict[str, Any]:
    """What a run says about itself, if it is of a format that is known here."""
    if not (folder / FACTS).is_file():
        raise InputError(
            f"{folder}: a run from before runs had a format number (no {FACTS}); use it with the Regard that made it, "
            "or train it again: recipe.toml says how, with the old names of its keys"
        )
    facts = read_json(folder / FACTS)
    if facts.get("format") != FORMAT:
        raise InputError(
            f"{folder}: a run of format {facts.get('format')!r}, and this Regard knows {FORMAT}; "
            "use it with the Regard that made it"
        )
    return facts


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
