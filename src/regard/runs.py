"""A run folder: recipe, tokens, checkpoints and log. Only safetensors, JSON and TOML are ever read from one.

recipe.toml  tokens.json  facts.json  log.jsonl  best  last
checkpoints/step-N/weights.safetensors  state.safetensors  manifest.json

Everything is written under another name, synced and renamed, so that a run killed at any moment
holds nothing half-written; what was left over is swept away at the next start.
"""

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomli_w
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save, save_file
from torch import Tensor

from regard.errors import FailedError, InputError

Tensors = dict[str, Tensor]
FILES = ("weights.safetensors", "state.safetensors")
STEP = re.compile(r"step-(\d{1,12})")
LARGEST_TEXT = 2**28


@dataclass(frozen=True)
class Checkpoint:
    """One saved state of a run."""

    folder: Path

    @property
    def step(self) -> int:
        found = STEP.fullmatch(self.folder.name)
        assert found is not None
        return int(found[1])

    def check(self) -> dict[str, Any]:
        """The manifest, once everything has been found to be what was written."""
        manifest = _json(self.folder / "manifest.json")
        wanted = manifest.get("sha256")
        if not isinstance(wanted, dict) or wanted.get("progress") != _digest(manifest.get("progress")):
            raise InputError(f"{self.folder / 'manifest.json'}: damaged: not what was written")
        for name in FILES:
            if not (self.folder / name).is_file() or _hash(self.folder / name) != wanted.get(name):
                raise InputError(f"{self.folder / name}: damaged: not what was written")
        return manifest

    def progress(self) -> dict[str, Any]:
        """What the training knew beside its tensors: scores, what came when."""
        progress: dict[str, Any] = self.check()["progress"]
        return progress

    def tensors(self, name: str) -> Tensors:
        return _tensors(self.folder / name)

    def shapes(self) -> dict[str, list[int]]:
        """Names and shapes of the weights, without reading them."""
        try:
            with safe_open(self.folder / FILES[0], "pt") as file:
                return {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise InputError(f"{self.folder / FILES[0]}: not a safetensors file: {error}") from error


class Run:
    """A folder in which a model was, is or will be trained."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recipe = _toml(folder / "recipe.toml")
        self.tokens = _json(folder / "tokens.json")
        self.facts = _json(folder / "facts.json")

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
        with _room(folder):
            (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
            _write(folder / "tokens.json", json.dumps(tokens, ensure_ascii=False).encode())
            _write(folder / "facts.json", json.dumps(facts).encode())
            for name, tensors in extras.items():
                _write(folder / name, save(tensors))
            _write(folder / "recipe.toml", tomli_w.dumps(recipe).encode())
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> "Run":
        if not (folder / "recipe.toml").is_file():
            raise InputError(f"{folder}: not a run folder (no recipe.toml in it); `regard train` makes one")
        return cls(folder)

    def extra(self, name: str) -> Tensors:
        """One of the files written beside the weights."""
        return _tensors(self.folder / name)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Nobody else may train here meanwhile. Sweeps what a killed process left behind."""
        with _room(self.folder):
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
        with _room(self.folder):
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            hashes = {"progress": _digest(progress)}
            for name, tensors in zip(FILES, (weights, state), strict=True):
                save_file({key: tensor.detach().contiguous() for key, tensor in tensors.items()}, part / name)
                hashes[name] = _hash(part / name)
                _sync(part / name)
            _write(part / "manifest.json", _manifest(hashes, progress))
            _sync(part)
            if final.exists():
                _remove(final)
            part.rename(final)
            _sync(final.parent)
            self.point("last", final.name)
        self._let_go(keep)
        return Checkpoint(final)

    def amend(self, step: int, progress: dict[str, Any]) -> None:
        """The same tensors, but more is known about them."""
        folder = self._checkpoints() / f"step-{step}"
        hashes = Checkpoint(folder).check()["sha256"] | {"progress": _digest(progress)}
        with _room(self.folder):
            _write(folder / "manifest.json", _manifest(hashes, progress))

    def point(self, name: str, at: str) -> None:
        """`best` or `last` → a checkpoint."""
        with _room(self.folder):
            _write(self.folder / name, at.encode())

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
        name = _text(pointer).strip() if pointer.is_file() else ""
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
        with _room(self.folder), (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def history(self) -> list[dict[str, Any]]:
        """All whole lines of the log."""
        file = self.folder / "log.jsonl"
        lines = _text(file).splitlines() if file.is_file() else []
        return [entry for line in lines if isinstance(entry := _parsed(line), dict)]

    def rewind(self, step: int) -> None:
        """Forget what was logged after a step: it will happen again."""
        kept = [json.dumps(entry) + "\n" for entry in self.history() if entry.get("step", 0) <= step]
        with _room(self.folder):
            _write(self.folder / "log.jsonl", "".join(kept).encode())

    def _checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    def _let_go(self, keep: int) -> None:
        pointer = self.folder / "best"
        best = _text(pointer).strip() if pointer.is_file() else ""
        for checkpoint in self.checkpoints()[keep:]:
            if checkpoint.folder.name != best:
                _remove(checkpoint.folder)


@contextmanager
def _room(folder: Path) -> Iterator[None]:
    """What the disk refuses is said in one line."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            what = "the disk is full; what was saved before is whole. Make room, then go on with --resume"
        else:
            what = str(error.strerror or error)
        raise FailedError(f"{folder}: {what}") from error
    except SafetensorError as error:  # the library hides the disk's own error in a text
        full = "No space left" in str(error)
        what = "the disk is full; what was saved before is whole. Make room, then go on with --resume"
        raise FailedError(f"{folder}: {what if full else error}") from error


def _write(path: Path, content: bytes) -> None:
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(folder: Path) -> None:
    """Renamed first: no checkpoint is ever seen half removed."""
    part = folder.with_name(folder.name + ".old.part")
    shutil.rmtree(part, ignore_errors=True)
    folder.rename(part)
    shutil.rmtree(part)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _manifest(hashes: dict[str, str], progress: dict[str, Any]) -> bytes:
    return json.dumps({"sha256": hashes, "progress": progress}, indent=2).encode()


def _digest(table: Any) -> str:
    return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()


def _tensors(path: Path) -> Tensors:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: not a safetensors file: {error}") from error


def _text(path: Path) -> str:
    """A small text file inside the run: no link out of it, nothing endless."""
    try:
        if path.is_symlink() or path.stat().st_size > LARGEST_TEXT:
            raise InputError(f"{path}: a link, or larger than any run would write it")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _json(path: Path) -> dict[str, Any]:
    parsed = _parsed(_text(path))
    if not isinstance(parsed, dict):
        raise InputError(f"{path}: damaged: not a JSON table")
    return parsed


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: damaged: {error}") from error
