"""The head of a safetensors file: names, types, shapes and places, all checked before any tensor is made.

Eight bytes say how long a JSON table is, and behind it stand the numbers, one tensor after another, without a hole.
"""

import struct
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO, TypeGuard

from regard.disk.parsing import json_value

BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
LONGEST, MOST_TENSORS, MOST_AXES, LONGEST_NAME = 2**25, 100_000, 16, 1024
START = 8


@dataclass(frozen=True)
class Entry:
    """One tensor: its type, its shape and where its bytes stand in the file."""

    kind: str
    shape: tuple[int, ...]
    begin: int
    end: int


def head_size(first: bytes, total: int) -> int:
    """How long the table is, from the first eight bytes of a file; a ValueError if that cannot be."""
    if len(first) < START:
        raise ValueError("it is cut off")
    size = int(struct.unpack("<Q", first[:START])[0])
    if size > min(LONGEST, total - START):
        raise ValueError("its head is longer than it can be")
    return size


def read_head(file: BinaryIO) -> dict[str, Entry]:
    """All tensors of an open file, none of which is read; a ValueError for what no file holds."""
    total = file.seek(0, 2)
    file.seek(0)
    return entries(file.read(head_size(file.read(START), total)), total)


def entries(head: bytes, total: int) -> dict[str, Entry]:
    """All tensors of a file of `total` bytes, by name; a ValueError for what no file holds."""
    table = json_value(head)
    if not isinstance(table, dict):
        raise ValueError("its head is no table")
    table.pop("__metadata__", None)
    if len(table) > MOST_TENSORS:
        raise ValueError(f"{len(table):,} tensors are more than it can hold")
    start = START + len(head)
    found = {name: _entry(name, held, start) for name, held in table.items()}
    place = start
    for name, one in sorted(found.items(), key=lambda pair: (pair[1].begin, pair[1].end)):
        if one.begin != place:
            raise ValueError(f"{_short(name)} does not stand behind the tensor before it")
        place = one.end
    if place != total:
        raise ValueError("it has not as many bytes as its head says")
    return found


def _entry(name: str, held: Any, start: int) -> Entry:
    if len(name) > LONGEST_NAME or not isinstance(held, dict):
        raise ValueError(f"{_short(name)} is no tensor")
    kind, shape, places = held.get("dtype"), held.get("shape"), held.get("data_offsets")
    if not isinstance(kind, str) or kind not in BYTES:
        raise ValueError(f"{_short(name)} is of a type that is not used here: {str(kind)[:20]!r}")
    if not _sizes(shape) or len(shape) > MOST_AXES or not _sizes(places) or len(places) != 2:
        raise ValueError(f"{_short(name)} has no shape or no place")
    begin, end = places
    if end - begin != prod(shape) * BYTES[kind]:
        raise ValueError(f"{_short(name)} has not as many bytes as its shape asks for")
    return Entry(kind, tuple(shape), start + begin, start + end)


def _sizes(numbers: Any) -> TypeGuard[list[int]]:
    return isinstance(numbers, list) and all(type(number) is int and 0 <= number < 2**63 for number in numbers)


def _short(name: str) -> str:
    return repr(name[:60])
