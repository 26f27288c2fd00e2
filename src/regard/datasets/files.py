"""Sentence pairs from the user's own files: two parallel ones, or one TSV or JSONL, plain or packed."""

import json
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeGuard

from regard.datasets.data import Report, Split, dice
from regard.datasets.lines import as_text, packed_or_plain, raw_lines
from regard.datasets.pairs import Pair, Pairs
from regard.disk import checksum
from regard.errors import InputError
from regard.recipe import File, Number, Share

MOST_BAD = 0.1
BAD, EMPTY, ELSEWHERE = "not UTF-8 or not in the form asked for", "with an empty side", "also held out"


class Files(Pairs):
    """Your own sentence pairs: `train` names `train.de` and `train.en`, or one .tsv or .jsonl file.

    Each may be packed as .gz or .xz. Without `valid` or `test`, a share of `train` is held out,
    chosen by the text itself, so that equal pairs never part.
    """

    def __init__(
        self,
        *,
        train: File,
        valid: File = "",
        test: File = "",
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

    def read(self, split: Split) -> Iterator[Pair]:
        return (pair for _, pair in self.numbered(split, Report()))

    def numbered(self, split: Split, report: Report) -> Iterator[tuple[int, Pair]]:
        named = self.named[split]
        if split != "train" and named:
            for line, pair in self._pairs(named, report):
                report.kept += 1
                yield line, pair
        else:
            elsewhere = self._held()
            noted = report if split == "train" else Report()  # what is wrong with a file is said once
            for line, pair in self._pairs(self.named["train"], noted):
                if hash(pair) in elsewhere:
                    noted.leave(ELSEWHERE, line)
                elif self._side(pair) == split:
                    report.kept += 1
                    yield line, pair
        if not report.kept and (split == "train" or named):
            raise InputError(f"{named}: no sentence pair in it{f'; {report}' if report.left_out else ''}")

    def _held(self) -> frozenset[int]:
        """The pairs of validation and test files, by hash."""
        names = [self.named[split] for split in ("valid", "test") if self.named[split]]
        return frozenset(hash(pair) for name in names for _, pair in self._pairs(name, Report()))

    def _side(self, pair: Pair) -> Split:
        valid, test = self.shares
        if valid + test == 0:
            return "train"
        drawn = dice(self.seed, *pair)
        return "valid" if drawn < valid else "test" if drawn < valid + test else "train"

    def _pairs(self, name: str, report: Report) -> Iterator[tuple[int, Pair]]:
        """All whole pairs of one file or two, with line numbers."""
        line = 0
        for line, texts in enumerate(self._lines(name), 1):
            if texts is None:
                report.leave(BAD, line)
            elif not texts[0].strip() or not texts[1].strip():
                report.leave(EMPTY, line)
            else:
                yield line, (texts[0].strip(), texts[1].strip())
        bad = report.count(BAD)
        if bad > MOST_BAD * line:
            raise InputError(f"{name}: {bad:,} of {line:,} lines are not UTF-8 text in the form asked for; is it text?")

    def _lines(self, name: str) -> Iterator[Pair | None]:
        files = self._files(name)
        if len(files) == 1:
            cut = _tab if ".tsv" in files[0].suffixes else self._json
            for line in raw_lines(files[0]):
                yield cut(line) if line.strip() else ("", "")
            return
        one, other = (raw_lines(file) for file in files)
        for number, (first, second) in enumerate(zip_longest(one, other)):
            if first is None or second is None:
                longer, shorter = (files[1], files[0]) if first is None else (files[0], files[1])
                more = 1 + sum(1 for _ in (other if first is None else one))
                raise InputError(
                    f"{shorter} has {number:,} lines and {longer} has {number + more:,}: they do not belong together\n"
                    "line n of one must be the translation of line n of the other"
                )
            texts = as_text(first), as_text(second)
            yield None if texts[0] is None or texts[1] is None else (texts[0], texts[1])

    def _files(self, name: str) -> list[Path]:
        """One file of pairs, or one for each side."""
        path = Path(name)
        if any(kind in path.suffixes for kind in (".tsv", ".jsonl")):
            if not path.is_file():
                raise InputError(f"{path}: no such file")
            return [path]
        sides = [packed_or_plain(f"{name}.{side}") for side in self._sides()]
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

    def identity(self) -> list[Any]:
        names = [name for name in self.named.values() if name]
        files = [file for name in names for file in self._files(name)]
        keys = self._sides() if any(".jsonl" in file.suffixes for file in files) else ()  # there they choose the texts
        contents = [*map(checksum, files), *keys]
        return [contents, [bool(name) for name in self.named.values()], self.shares, self.seed]


def _tab(line: bytes) -> Pair | None:
    sides = (as_text(line) or "").split("\t")
    return (sides[0], sides[1]) if len(sides) >= 2 else None


def _writable(text: Any) -> TypeGuard[str]:
    """JSON can name halves of characters, which are no text."""
    return isinstance(text, str) and not any("\ud800" <= letter <= "\udfff" for letter in text)
