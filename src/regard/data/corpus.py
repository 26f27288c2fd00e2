"""Pairs as numbers: encoded once, kept on disk under a fingerprint, and mapped into memory."""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.pairs import Pair, Pairs, Split, digest
from regard.data.tokens import Cutter, Tokens
from regard.errors import InputError

SAMPLE = 1_000_000
FORMAT = 1


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of both sides; they may be the same."""

    source: Tokens
    target: Tokens

    @classmethod
    def learn(cls, pairs: Pairs, cutter: Cutter) -> "Vocabulary":
        """From the first million training pairs."""
        if cutter.joint:
            both = cutter.learn(text for pair in islice(pairs.read("train"), SAMPLE) for text in pair)
            return cls(both, both)
        sides = [cutter.learn(pair[side] for pair in islice(pairs.read("train"), SAMPLE)) for side in (0, 1)]
        return cls(*sides)

    def table(self) -> dict[str, Any]:
        if self.source is self.target:
            return {"both": self.source.table()}
        return {"source": self.source.table(), "target": self.target.table()}

    @classmethod
    def open(cls, table: dict[str, Any]) -> "Vocabulary":
        if set(table) == {"both"}:
            both = Tokens.open(table["both"])
            return cls(both, both)
        if set(table) == {"source", "target"}:
            return cls(Tokens.open(table["source"]), Tokens.open(table["target"]))
        raise InputError("not the vocabulary of a run: wanted tables `both`, or `source` and `target`")


@dataclass(frozen=True)
class Rows:
    """Many rows of ids, one after another: row i is `ids[ends[i]:ends[i + 1]]`."""

    ids: NDArray[Any]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ends) - 1

    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.ends)

    def row(self, number: int) -> NDArray[Any]:
        return np.asarray(self.ids[self.ends[number] : self.ends[number + 1]])


@dataclass(frozen=True)
class Corpus:
    """One split, encoded: row i of the target translates row i of the source."""

    source: Rows
    target: Rows
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.source)


def encode(
    pairs: Pairs, vocabulary: Vocabulary, split: Split, longest: int, tell: Callable[[str], None] = lambda _: None
) -> Corpus:
    """A split as numbers, from the cache if nothing has changed. Pairs longer than `longest` tokens are left out."""
    name = digest(FORMAT, pairs.fingerprint(), vocabulary.table(), split, longest)
    folder = cache() / name
    if not (folder / "facts.json").is_file():
        tell(f"encoding the {split} pairs")
        _write(folder, pairs.read(split), vocabulary, longest)
    facts = json.loads((folder / "facts.json").read_text())
    return Corpus(_open(folder, "source"), _open(folder, "target"), int(facts["left_out"]))


def cache() -> Path:
    """Where what can be made again is kept: REGARD_CACHE, or .cache/regard at home."""
    return Path(os.environ.get("REGARD_CACHE") or Path.home() / ".cache" / "regard")


def _write(folder: Path, pairs: Iterable[Pair], vocabulary: Vocabulary, longest: int) -> None:
    """Whole or not at all: a folder gets its name only when everything is in it."""
    part = folder.with_name(f"{folder.name}.{os.getpid()}.part")
    kind = np.uint16 if max(len(vocabulary.source), len(vocabulary.target)) < 2**16 else np.uint32
    lengths: tuple[list[int], list[int]] = ([], [])
    left_out = 0
    try:
        part.mkdir(parents=True, exist_ok=True)  # one of the same number may have been killed
        with (part / "source.ids").open("wb") as source, (part / "target.ids").open("wb") as target:
            for rows in _encoded(pairs, vocabulary):
                if max(map(len, rows)) > longest:
                    left_out += 1
                    continue
                for row, file, sizes in zip(rows, (source, target), lengths, strict=True):
                    file.write(np.array(row, kind).tobytes())
                    sizes.append(len(row))
        for side, sizes in zip(("source", "target"), lengths, strict=True):
            np.save(part / f"{side}.ends.npy", np.cumsum([0, *sizes], dtype=np.int64))
        (part / "facts.json").write_text(json.dumps({"left_out": left_out, "kind": np.dtype(kind).name}))
        part.rename(folder)
    except OSError as error:
        if not folder.is_dir():  # else another process was first
            raise InputError(f"{folder.parent}: {error.strerror or error}; REGARD_CACHE names another place") from error
    finally:
        for left in [part, *(old for old in folder.parent.glob("*.part") if _is_old(old))]:
            shutil.rmtree(left, ignore_errors=True)


def _is_old(path: Path) -> bool:
    """Left behind by a process that was killed: nobody encodes for more than a day."""
    try:
        return time.time() - path.stat().st_mtime > 24 * 3600
    except OSError:  # gone meanwhile
        return False


def _encoded(pairs: Iterable[Pair], vocabulary: Vocabulary) -> Iterator[tuple[list[int], list[int]]]:
    pairs = iter(pairs)
    while batch := list(islice(pairs, 8192)):
        sources, targets = zip(*batch, strict=True)
        yield from zip(vocabulary.source.encode(sources), vocabulary.target.encode(targets), strict=True)


def _open(folder: Path, side: str) -> Rows:
    kind = np.dtype(json.loads((folder / "facts.json").read_text())["kind"])
    ends = np.load(folder / f"{side}.ends.npy", mmap_mode="r", allow_pickle=False)
    file = folder / f"{side}.ids"
    ids = np.memmap(file, kind, "r") if file.stat().st_size else np.zeros(0, kind)
    return Rows(ids, ends)
