"""A run folder: recipe, tokens, checkpoints and log. Only safetensors, JSON and TOML are ever read from one.

recipe.toml  tokens.json  facts.json  log.jsonl  best  last
checkpoints/step-N/weights.safetensors  state.safetensors  manifest.json

Everything is written under another name, synced and renamed, so that a run killed at any moment
holds nothing half-written; what was left over is swept away at the next start.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomli_w
from safetensors.torch import save, save_file

from regard.errors import InputError
from regard.runs.checkpoint import FILES, STEP, Checkpoint, digest, manifest
from regard.runs.disk import (
    Tensors,
    hashed,
    parse,
    read_json,
    read_tensors,
    read_text,
    read_toml,
    remove,
    room,
    sync,
    write,
)


class Run:
    """A folder in which a model was, is or will be trained."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recipe = read_toml(folder / "recipe.toml")
        self.tokens = read_json(folder / "tokens.json")
        self.facts = read_json(folder / "facts.json")

    @classmethod
    def create(
        cls,
        folder: Path,
        recipe: dict[str, Any],
        tokens: dict[str, Any],
        facts: dict[str, Any],
        extras: Mapping[str, Tensors] = MappingProxyType({}),
    ) -> "Run":
        """A new run; the recipe is written last, so that a folder with a recipe is whole."""
        if (folder / "recipe.toml").exists():
            raise InputError(f"{folder}: there is a run already; go on with --resume, or choose another --out")
        with room(folder):
            (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
            write(folder / "tokens.json", json.dumps(tokens, ensure_ascii=False).encode())
            write(folder / "facts.json", json.dumps(facts).encode())
            for name, tensors in extras.items():
                write(folder / name, save(tensors))
            write(folder / "recipe.toml", tomli_w.dumps(recipe).encode())
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> "Run":
        if not (folder / "recipe.toml").is_file():
            raise InputError(f"{folder}: not a run folder (no recipe.toml in it); `regard train` makes one")
        return cls(folder)

    def extra(self, name: str) -> Tensors:
        """One of the files written beside the weights."""
        return read_tensors(self.folder / name)

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
            for left in [*self.folder.glob("*.part"), *self._checkpoints().glob("*.part")]:
                shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
            yield

    def save(self, step: int, weights: Tensors, state: Tensors, progress: dict[str, Any], keep: int) -> Checkpoint:
        """Write a checkpoint whole or not at all, then let go of old ones: `keep` stay, and the best."""
        final = self._checkpoints() / f"step-{step}"
        part = final.with_name(final.name + ".part")
        with room(self.folder):
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            hashes = {"progress": digest(progress)}
            for name, tensors in zip(FILES, (weights, state), strict=True):
                save_file({key: tensor.detach().contiguous() for key, tensor in tensors.items()}, part / name)
                hashes[name] = hashed(part / name)
                sync(part / name)
            write(part / "manifest.json", manifest(hashes, progress))
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
        folder = self._checkpoints() / f"step-{step}"
        hashes = Checkpoint(folder).check()["sha256"] | {"progress": digest(progress)}
        with room(self.folder):
            write(folder / "manifest.json", manifest(hashes, progress))

    def point(self, name: str, at: str) -> None:
        """`best` or `last` → a checkpoint."""
        with room(self.folder):
            write(self.folder / name, at.encode())

    def checkpoints(self) -> list[Checkpoint]:
        """All, the newest first."""
        found = [Checkpoint(path) for path in self._checkpoints().glob("step-*") if STEP.fullmatch(path.name)]
        return sorted(found, key=lambda checkpoint: -checkpoint.step)

    def newest(self, tell: Callable[[str], None]) -> Checkpoint | None:
        """The newest checkpoint that is whole; damaged ones are named and passed over."""
        for checkpoint in self.checkpoints():
            try:
                checkpoint.check()
            except (InputError, OSError) as error:
                tell(f"{error}; falling back to the checkpoint before it")
                continue
            return checkpoint
        return None

    def for_use(self, tell: Callable[[str], None]) -> Checkpoint:
        """The best checkpoint, or else the newest that is whole."""
        pointer = self.folder / "best"
        name = read_text(pointer).strip() if pointer.is_file() else ""
        if STEP.fullmatch(name) and (self._checkpoints() / name).is_dir():
            best = Checkpoint(self._checkpoints() / name)
            try:
                best.check()
                return best
            except (InputError, OSError) as error:
                tell(f"{error}; falling back to the newest")
        newest = self.newest(tell)
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
        return [entry for line in lines if isinstance(entry := parse(line), dict)]

    def rewind(self, step: int) -> None:
        """Forget what was logged after a step: it will happen again."""
        kept = [json.dumps(entry) + "\n" for entry in self.history() if entry.get("step", 0) <= step]
        with room(self.folder):
            write(self.folder / "log.jsonl", "".join(kept).encode())

    def _checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    def _let_go(self, keep: int) -> None:
        pointer = self.folder / "best"
        best = read_text(pointer).strip() if pointer.is_file() else ""
        for checkpoint in self.checkpoints()[keep:]:
            if checkpoint.folder.name != best:
                remove(checkpoint.folder)
