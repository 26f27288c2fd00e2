"""Reading: regular files of a bounded size, as bytes, text, JSON or TOML."""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from regard.errors import InputError

LARGEST = 2**28


def place(name: str | Path) -> Path:
    """Where a name that a user gives leads: `~` is the home folder."""
    try:
        return Path(name).expanduser()
    except RuntimeError as error:  # ~ of somebody who is not here
        raise InputError(f"{name}: {error}") from error


def read_bytes(path: Path) -> bytes:
    """A small file: no link out of its folder, nothing endless."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
            reason = "no such file" if not path.exists() else "a link, no plain file, or larger than it should be"
            raise InputError(f"{path}: {reason}")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_text(path: Path) -> str:
    """A small text file."""
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def read_json(path: Path) -> dict[str, Any]:
    """A JSON table."""
    return parse_json(read_bytes(path), path)


def parse_json(content: bytes, named: str | Path) -> dict[str, Any]:
    """A JSON table from what a file held; `named` is how an error calls it."""
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise InputError(f"{named}: damaged: not a JSON table")
    return parsed


def json_text(value: Any, indent: int | None = None) -> str:
    """Anything made of tables, lists, numbers and words as JSON. NaN and infinities are no JSON: they become null."""
    return json.dumps(finite(value), indent=indent, allow_nan=False)


def finite(value: Any) -> Any:
    """The same without what JSON cannot hold."""
    if isinstance(value, Mapping):
        return {str(key): finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not isfinite(value) else value


def read_toml(path: Path) -> dict[str, Any]:
    """TOML tables."""
    try:
        return tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path}: damaged: {error}") from error


def checksum(path: Path) -> str:
    """The sha256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def names_inside(names: Any, named: str | Path) -> list[str]:
    """File names that a table lists: plain ones, so that none leads out of its folder."""
    good = isinstance(names, list) and all(isinstance(name, str) and name == Path(name).name for name in names)
    if not good or any(name in ("", ".", "..") for name in names):
        raise InputError(f"{named}: damaged: names of files that are none")
    return list(names)
