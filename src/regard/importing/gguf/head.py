"""The head of a GGUF file: values by name, then tensors with their types, shapes and places.

Every count and length is held against what is left of the file before anything is made of it; the `gguf` package
itself trusts them. Tensors stand one behind another in their order, aligned, as llama.cpp asks it of them too.
"""

import struct
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO

import numpy as np

from regard.importing.gguf.kinds import KINDS, Kind

MAGIC, VERSIONS = b"GGUF", (2, 3)
MOST_KEYS, MOST_TENSORS, MOST_ITEMS, MOST_AXES = 10_000, 100_000, 2**22, 4
LONGEST_NAME, LONGEST_TEXT, LONGEST_HEAD = 1024, 2**22, 2**28
LARGEST = 2**40
BLOCK = 2**20
TEXT, ARRAY, TRUTH = 8, 9, 7
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", TRUTH: "B", 10: "Q", 11: "q", 12: "d"}


@dataclass(frozen=True)
class Entry:
    """One tensor: its kind, its shape as torch writes it, and where its bytes stand in the file."""

    kind: Kind
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Head:
    """All that a file says before its numbers."""

    values: dict[str, Any]
    tensors: dict[str, Entry]


class Content:
    """The bytes of an open file, read where they are asked for: one that is mapped and cut off ends the process."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._size = file, file.seek(0, 2)
        self._begin, self._block = 0, b""

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        begin, end = part.start, part.stop
        if not self._begin <= begin <= end <= self._begin + len(self._block):
            self._file.seek(begin)
            self._begin, self._block = begin, self._file.read(max(BLOCK, end - begin))
        found = self._block[begin - self._begin : end - self._begin]
        if len(found) < end - begin:
            raise ValueError("it became shorter while it was read")
        return found


def read_head(held: Content | bytes) -> Head:
    """The head of a file; a ValueError for what no file holds."""
    reader = _Reader(held)
    if reader.take(4) != MAGIC:
        raise ValueError("it does not begin with GGUF")
    version = reader.number("I")
    if version not in VERSIONS:
        raise ValueError(f"of version {version}, and {' and '.join(map(str, VERSIONS))} are known here")
    tensors, keys = reader.number("Q"), reader.number("Q")
    if tensors > MOST_TENSORS or keys > MOST_KEYS:
        raise ValueError(f"{tensors:,} tensors and {keys:,} values are more than it can hold")
    values: dict[str, Any] = {}
    for _ in range(keys):
        name = reader.text(LONGEST_NAME)
        if name in values:
            raise ValueError(f"{name[:60]!r} is said twice")
        values[name] = reader.value(reader.number("I"))
    alignment = values.get("general.alignment", 32)
    if type(alignment) is not int or alignment not in (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096):
        raise ValueError("general.alignment is none")
    infos: dict[str, tuple[Kind, tuple[int, ...], int]] = {}
    for _ in range(tensors):
        name = reader.text(LONGEST_NAME)
        if name in infos:
            raise ValueError(f"tensor {name[:60]!r} is there twice")
        infos[name] = reader.tensor(name)
    return Head(values, _placed(infos, _aligned(reader.place, alignment), alignment, len(held)))


class _Reader:
    """Reads on from where it is, never past the end."""

    def __init__(self, held: Content | bytes) -> None:
        self.held, self.place, self.items = held, 0, MOST_ITEMS
        self.total = min(len(held), LONGEST_HEAD)

    def take(self, size: int) -> bytes:
        if size > self.total - self.place:
            raise ValueError("it is cut off, or its head is longer than it can be")
        self.place += size
        return self.held[self.place - size : self.place]

    def number(self, kind: str) -> int:
        found: int = struct.unpack(f"<{kind}", self.take(struct.calcsize(f"<{kind}")))[0]
        return found

    def text(self, longest: int) -> str:
        size = self.number("Q")
        if size > longest:
            raise ValueError(f"a text of {size:,} bytes, and {longest:,} is the most")
        return self.take(size).decode("utf-8")  # a UnicodeDecodeError is a ValueError

    def value(self, kind: int, inside: bool = False) -> Any:
        if kind == TEXT:
            return self.text(LONGEST_TEXT)
        if kind in SCALARS:
            found = self.scalars(kind, 1)[0]
            return float(str(np.float32(found))) if SCALARS[kind] == "f" else found  # 1e-05, not 9.99999974e-06
        if kind != ARRAY or inside:
            raise ValueError("lists of lists are not known here" if kind == ARRAY else f"a value of kind {kind}")
        kind, count = self.number("I"), self.number("Q")
        self.items -= count
        if self.items < 0:
            raise ValueError(f"a list of {count:,}, and {MOST_ITEMS:,} is the most of all together")
        if kind == TEXT:
            return self.texts(count)
        return self.scalars(kind, count) if kind in SCALARS else [self.value(kind, True) for _ in range(count)]

    def texts(self, count: int) -> list[str]:
        """Many texts in one loop: a tokenizer has a hundred thousand of them."""
        found, held, place = [], self.held, self.place
        for _ in range(count):
            start = place + 8
            size = int.from_bytes(held[place:start], "little") if start <= self.total else LONGEST_TEXT
            place = start + size
            if place > self.total or size > LONGEST_TEXT:
                raise ValueError("it is cut off, or a text in it is longer than it can be")
            found.append(held[start:place].decode("utf-8"))
        self.place = place
        return found

    def scalars(self, kind: int, count: int) -> list[Any]:
        form = f"<{count}{SCALARS[kind]}"
        found = list(struct.unpack(form, self.take(struct.calcsize(form))))
        if kind == TRUTH and not {0, 1}.issuperset(found):
            raise ValueError("a truth that is neither true nor false")
        return list(map(bool, found)) if kind == TRUTH else found

    def tensor(self, name: str) -> tuple[Kind, tuple[int, ...], int]:
        axes = self.number("I")
        if not 0 < axes <= MOST_AXES:
            raise ValueError(f"tensor {name[:60]!r} has {axes} axes")
        shape = tuple(self.number("Q") for _ in range(axes))[::-1]
        kind, offset = self.number("I"), self.number("Q")
        if kind not in KINDS:
            known = ", ".join(one.name for one in KINDS.values())
            raise ValueError(f"tensor {name[:60]!r} is of type {kind}, which is not read here; those that are: {known}")
        if not all(0 < size <= LARGEST for size in shape) or prod(shape) > LARGEST or shape[-1] % KINDS[kind].block:
            raise ValueError(f"tensor {name[:60]!r} has a shape that it cannot have")
        return KINDS[kind], shape, offset


def _placed(
    infos: dict[str, tuple[Kind, tuple[int, ...], int]], start: int, alignment: int, total: int
) -> dict[str, Entry]:
    """Every tensor behind the one before it, and all of them inside the file."""
    found, place = {}, start
    for name, (kind, shape, offset) in sorted(infos.items(), key=lambda pair: pair[1][2]):
        end = place + prod(shape) // kind.block * kind.size
        if start + offset != place:
            raise ValueError(f"tensor {name[:60]!r} does not stand behind the one before it")
        if end > total:
            raise ValueError(f"tensor {name[:60]!r} is longer than the file")
        found[name] = Entry(kind, shape, place, end)
        place = _aligned(end, alignment)
    if total > max(place, start):
        raise ValueError("more stands behind its last tensor")
    return found


def _aligned(place: int, alignment: int) -> int:
    return -(-place // alignment) * alignment
