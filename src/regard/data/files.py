"""Sentence pairs from the user's own files: two parallel ones, or one TSV or JSONL, plain or packed."""

import gzip
import json
import lzma
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from io import BufferedIOBase
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeGuard

from regard.data.pairs import Pair, Pairs, Split, digest, held_out
from regard.errors import InputError
from regard.recipe import Number, Share

PACKED: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".xz": lzma.open}
MOST_BAD = 0.1


@dataclass
class Troubles:
    """What was left out, how often, and where first."""

    found: dict[str, list[int]] = field(default_factory=dict)

    def add(self, what: str, line: int) -> None:
        self.found.setdefault(what, [0, line])[0] += 1

    def count(self, what: str) -> int:
        return self.found.get(what, [0])[0]

    def __str__(self) -> str:
        return ", ".join(f"{count:,} {what} (first in line {line:,})" for what, (count, line) in self.found.items())


class Files(Pairs):
    """Your own sentence pairs: `train` names `train.de` and `train.en`, or one .tsv or .jsonl file.

    Each may be packed as .gz or .xz. Without `valid` or `test`, a share of `train` is held out,
    chosen by the text itself, so that equal pairs never part.
    """

    def __init__(
        self,
        *,
        train: str,
        valid: str = "",
        test: str = "",
        source: str = "source",
        target: str = "target",
        valid_share: Share = 0.02,
        test_share: Share = 0.0,
        seed: Number = 1,
    ) -> None:
        if source == target:
            raise ValueError(f"source and target are both {source!r}; say which language is which")
        if valid_share + test_share >= 1:
            raise ValueError("valid_share and test_share leave nothing to train on")
        self.source, self.target, self.seed = source, target, seed
        self.named: dict[Split, str] = {"train": train, "valid": valid, "test": test}
        self.shares = (0.0 if valid else valid_share, 0.0 if test else test_share)
        self.troubles: dict[Split, Troubles] = {}

    def read(self, split: Split) -> Iterator[Pair]:
        troubles = self.troubles[split] = Troubles()
        kept = 0
        if split != "train" and self.named[split]:
            for _, pair in self._pairs(self.named[split], troubles):
                kept += 1
                yield pair
        else:
            elsewhere = self._held()
            for line, pair in self._pairs(self.named["train"], troubles):
                if self._side(pair) == split and hash(pair) not in elsewhere:
                    kept += 1
                    yield pair
                elif hash(pair) in elsewhere:
                    troubles.add("also in the validation or test file", line)
        if not kept and (split == "train" or self.named[split]):
            why = f"; {troubles}" if troubles.found else ""
            raise InputError(f"{self.named[split]}: no sentence pair in it{why}")

    def _held(self) -> frozenset[int]:
        """The pairs of validation and test files, by hash."""
        names = [self.named[split] for split in ("valid", "test") if self.named[split]]
        return frozenset(hash(pair) for name in names for _, pair in self._pairs(name, Troubles()))

    def _side(self, pair: Pair) -> Split:
        valid, test = self.shares
        if valid + test == 0:
            return "train"
        drawn = held_out(pair, self.seed)
        return "valid" if drawn < valid else "test" if drawn < valid + test else "train"

    def _pairs(self, name: str, troubles: Troubles) -> Iterator[tuple[int, Pair]]:
        """All whole pairs of one file or two, with line numbers."""
        line = 0
        for line, texts in enumerate(self._lines(name), 1):
            if texts is None:
                troubles.add("not UTF-8 or not in the form asked for", line)
            elif not texts[0].strip() or not texts[1].strip():
                troubles.add("with an empty side", line)
            else:
                yield line, (texts[0].strip(), texts[1].strip())
        bad = troubles.count("not UTF-8 or not in the form asked for")
        if bad > MOST_BAD * line:
            raise InputError(f"{name}: {bad:,} of {line:,} lines are not UTF-8 text in the form asked for; is it text?")

    def _lines(self, name: str) -> Iterator[Pair | None]:
        files = self._files(name)
        if len(files) == 1:
            cut = _tab if ".tsv" in files[0].suffixes else self._json
            for line in _raw(files[0]):
                yield cut(line) if line.strip() else ("", "")
            return
        one, other = (_raw(file) for file in files)
        for number, (first, second) in enumerate(zip_longest(one, other)):
            if first is None or second is None:
                longer, shorter = (files[1], files[0]) if first is None else (files[0], files[1])
                more = 1 + sum(1 for _ in (other if first is None else one))
                raise InputError(
                    f"{shorter} has {number:,} lines and {longer} has {number + more:,}: they do not belong together\n"
                    "line n of one must be the translation of line n of the other"
                )
            texts = _text(first), _text(second)
            yield None if texts[0] is None or texts[1] is None else (texts[0], texts[1])

    def _files(self, name: str) -> list[Path]:
        """One file of pairs, or one for each side."""
        path = Path(name)
        if any(kind in path.suffixes for kind in (".tsv", ".jsonl")):
            return [_there(path)]
        sides = [next((file for file in _forms(f"{name}.{side}") if file.is_file()), None) for side in self._sides()]
        if sides[0] is None or sides[1] is None:
            missing = self._sides()[sides.index(None)]
            hint = "" if self.source != "source" else "; say data.source=… and data.target=… for their endings"
            raise InputError(f"{name}.{missing}: no such file (nor packed as .gz or .xz){hint}")
        return [sides[0], sides[1]]

    def _sides(self) -> tuple[str, str]:
        return self.source, self.target

    def _json(self, line: bytes) -> Pair | None:
        """{"de": …, "en": …}, also below "translation"."""
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return None
        row = row if isinstance(row, dict) else {}
        inner = row.get("translation")
        row = inner if isinstance(inner, dict) else row
        one, other = (row.get(side) for side in self._sides())
        return (one, other) if _writable(one) and _writable(other) else None

    def fingerprint(self) -> str:
        names = [name for name in self.named.values() if name]
        files = [file for name in names for file in self._files(name)]
        keys = self._sides() if any(".jsonl" in file.suffixes for file in files) else ()  # there they choose the texts
        contents = [*map(_contents, files), *keys]
        return digest("files", contents, [bool(name) for name in self.named.values()], self.shares, self.seed)


def _tab(line: bytes) -> Pair | None:
    sides = (_text(line) or "").split("\t")
    return (sides[0], sides[1]) if len(sides) >= 2 else None


def _text(line: bytes) -> str | None:
    try:
        return None if b"\0" in line else line.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _writable(text: Any) -> TypeGuard[str]:
    """JSON can name halves of characters, which are no text."""
    return isinstance(text, str) and not any("\ud800" <= letter <= "\udfff" for letter in text)


def _forms(name: str) -> list[Path]:
    return [Path(name + packed) for packed in ("", *PACKED)]


def _there(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    return path


def _raw(path: Path) -> Iterator[bytes]:
    """Lines without their ends, streamed; a byte order mark is no text."""
    try:
        with _opened(path) as file:
            for number, line in enumerate(file):
                yield (line if number else line.removeprefix(BOM_UTF8)).rstrip(b"\r\n")
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def _opened(path: Path) -> BufferedIOBase:
    opened: BufferedIOBase = PACKED[path.suffix](path) if path.suffix in PACKED else path.open("rb")
    return opened


def _contents(path: Path) -> str:
    with path.open("rb") as file:
        hashed = sha256()
        while block := file.read(1 << 20):
            hashed.update(block)
    return hashed.hexdigest()
