"""JSON and TOML from anybody: bounded in size, depth and keys before anything is made of them."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from regard.errors import InputError

DEEPEST, DOTS = 100, 32
NESTED = (dict, list)  # as a tuple: a union takes isinstance many times as long
LARGEST_TOML = 2**22
VALUES = 2**22  # brackets and commas of a JSON text: an empty table takes thirty times the bytes it is written in
BRACKET = re.compile(r"[\[\]{}]")
APART = re.compile(r"[=,{\[\n]")


def parse_json(content: bytes | str, named: str | Path) -> dict[str, Any]:
    """A JSON table from what a file held; `named` is how an error calls it."""
    parsed = json_value(content)
    if not isinstance(parsed, dict):
        raise InputError(f"{named}: damaged: not a JSON table")
    return parsed


def json_value(content: bytes | str, most: int = VALUES) -> Any:
    """Any JSON value; None for what is none, has more than `most` values, or is nested deeper than anything here."""
    if len(content) > most and marks(content) > most:
        return None
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError):  # a number of thousands of digits is a ValueError too
        return None
    return parsed if _shallow(parsed) else None


def marks(content: bytes | str) -> int:
    """How many brackets and commas there are: the values cannot be more."""
    if isinstance(content, str):
        return sum(map(content.count, "[{,"))
    return sum(map(content.count, (b"[", b"{", b",")))


def _shallow(value: Any) -> bool:
    level = [value] if isinstance(value, NESTED) else []
    for _ in range(DEEPEST):
        if not level:
            return True
        inner = (each for one in level for each in (one.values() if isinstance(one, dict) else one))
        level = [each for each in inner if isinstance(each, NESTED)]
    return not level


def parse_toml(text: str) -> dict[str, Any]:
    """TOML tables; a ValueError for what is none. The parser takes time without end for keys of a thousand parts."""
    if len(text) > LARGEST_TOML:
        raise ValueError(f"{len(text):,} characters, and {LARGEST_TOML:,} is the most")
    if max((part.count(".") for part in APART.split(text)), default=0) > DOTS:
        raise ValueError(f"more than {DOTS} dots in one key")
    depth = 0
    for bracket in BRACKET.finditer(text):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > DEEPEST:
            raise ValueError(f"nested more than {DEEPEST} deep")
        depth = max(depth, 0)
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
