"""Files that are whole or not there, and that are read as data only."""

import errno
import hashlib
import json
import os
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from regard.errors import FailedError, InputError

Tensors = dict[str, Tensor]
LARGEST_TEXT = 2**28


@contextmanager
def room(folder: Path) -> Iterator[None]:
    """What the disk refuses is said in one line."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise FailedError(f"{folder}: {_reason(error)}") from error


def _reason(error: OSError | SafetensorError) -> str:
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    full = full or "No space left" in str(error)  # safetensors hides the disk's own error in a text
    if full:
        return "the disk is full; what was saved before is whole. Make room, then go on with --resume"
    return str(getattr(error, "strerror", None) or error)


def write(path: Path, content: bytes) -> None:
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(folder: Path) -> None:
    """Renamed first: no checkpoint is ever seen half removed."""
    part = folder.with_name(folder.name + ".old.part")
    shutil.rmtree(part, ignore_errors=True)
    folder.rename(part)
    shutil.rmtree(part)


def hashed(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_tensors(path: Path) -> Tensors:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: not a safetensors file: {error}") from error


def read_text(path: Path) -> str:
    """A small text file inside the run: no link out of it, nothing endless."""
    try:
        if path.is_symlink() or path.stat().st_size > LARGEST_TEXT:
            raise InputError(f"{path}: a link, or larger than any run would write it")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def read_json(path: Path) -> dict[str, Any]:
    parsed = parse(read_text(path))
    if not isinstance(parsed, dict):
        raise InputError(f"{path}: damaged: not a JSON table")
    return parsed


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: damaged: {error}") from error
