"""Reading: regular files of a bounded size, as bytes, text, JSON or TOML."""

import hashlib
import json
from collections.abc import Mapping
from io import BufferedReader
from math import isfinite
from pathlib import Path
from typing import Any

from regard.disk import ahead
from regard.disk.door import ENDLESS, LARGEST, opened
from regard.disk.parsing import LARGEST_TOML, parse_json, parse_toml
from regard.errors import InputError

LONGEST = 255  # letters in the name of a file
MOST_NAMES = 64  # files that a task keeps
BLOCK = 1 << 16  # bytes for which room is made at once


def place(name: str | Path) -> Path:
    """Where a name that a user gives leads: `~` is the home folder."""
    try:
        return Path(name).expanduser()
    except RuntimeError as error:  # ~ of somebody who is not here
        raise InputError(f"{name}: {error}") from error


def read_bytes(path: Path, *, links: bool = False, deep: int = 0, most: int = LARGEST) -> bytes:
    """A small file: no link out of its folder, nothing endless."""
    with opened(path, most, links=links, deep=deep) as file:
        try:
            content = _up_to(most + 1, file)  # it may have grown since
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(content) > most:
        raise InputError(f"{path}: larger than it should be")
    return content


def _up_to(most: int, file: BufferedReader) -> bytes:
    """The same as `read(most)`, which would make room for all of that before it looks how much there is."""
    blocks = list[bytes]()
    while most and (block := file.read(min(most, BLOCK))):
        blocks.append(block)
        most -= len(block)
    return b"".join(blocks)


def read_text(path: Path, *, links: bool = False, most: int = LARGEST) -> str:
    """A small text file."""
    try:
        return read_bytes(path, links=links, most=most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def read_json(path: Path, *, links: bool = False, deep: int = 0) -> dict[str, Any]:
    """A JSON table."""
    return parse_json(read_bytes(path, links=links, deep=deep), path)


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


def read_toml(path: Path, *, links: bool = False) -> dict[str, Any]:
    """TOML tables."""
    try:
        return parse_toml(read_text(path, links=links, most=LARGEST_TOML))
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: damaged: {error}") from error


def checksum(path: Path, *, links: bool = False, deep: int = 0) -> str:
    """The sha256 of a file."""
    with opened(path, ENDLESS, links=links, deep=deep) as file:
        try:
            return ahead.checked(file) or hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def names_inside(names: Any, named: str | Path) -> list[str]:
    """File names that a table lists: a few plain ones, each once, so that none leads out of its folder."""
    good = isinstance(names, list) and all(isinstance(name, str) and name == Path(name).name for name in names)
    if not good or len(set(names)) < len(names) or len(names) > MOST_NAMES:
        raise InputError(f"{named}: damaged: names of files that are none")
    if any(name in ("", ".", "..") or "\0" in name or len(name) > LONGEST for name in names):
        raise InputError(f"{named}: damaged: names of files that are none")
    return list(names)
