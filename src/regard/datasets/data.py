"""What to learn from: the contract of all data, whatever a row of them is."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, TypeVar

from regard.datasets.licence import licence_of
from regard.datasets.report import Report, all_held_out, note_few, note_untested
from regard.listener import Listener

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")
Row = TypeVar("Row")
SHOWN = 4  # files that are named where rows are spoken of

__all__ = ["SPLITS", "Data", "Report", "Split", "all_held_out", "dice", "note_few", "note_untested", "short_hash"]


class Data(ABC, Generic[Row]):
    """Rows in three splits that share nothing; which rows a split has depends on the options alone."""

    more_held_out = ""
    """How to hold out more rows for validation."""
    more_tested: ClassVar[str] = ""
    """What would give a test split where there is none."""
    suits: ClassVar[dict[str, str]] = {}
    """Kinds of other sections that are chosen with these data where a recipe's own were meant for others."""

    licence: ClassVar[str] = ""
    """On what terms built-in data may be used."""

    @abstractmethod
    def read(self, split: Split) -> Iterator[Row]:
        """The rows of a split, always in the same order."""

    @abstractmethod
    def identity(self) -> list[Any]:
        """All that decides what `read` gives, as JSON can hold it: contents of files, options, versions."""

    def numbered(self, split: Split, report: Report) -> Iterator[tuple[int, Row]]:
        """The rows with the places they stand at; what was left out on the way goes into the report."""
        for number, row in enumerate(self.read(split), 1):
            report.keep()
            yield number, row

    def survey(self, listener: Listener) -> None:
        """Look through all rows before anything is learnt from them, so that what is wrong is said at once."""

    def count(self, split: Split) -> int:
        """How many rows a split has, as far as that is known without reading it; 0 if not."""
        return 0

    def report(self, split: Split) -> Report:
        """What becomes of the rows of a split."""
        report = Report()
        deque(self.numbered(split, report), 0)
        return report

    def files(self, split: Split) -> list[str]:
        """The names of the files a split is read from, as people know them."""
        return []

    def origins(self, split: Split) -> set[str]:
        """Where the rows of a split come from: resolved paths of files, or of images in them; none of built-in data."""
        return set()

    def terms(self) -> str:
        """The licence of what is learnt: that of built-in data, or what is said beside files; else nothing."""
        return self.licence or licence_of(self.origins("train"))

    def trains_on(self, origins: set[str]) -> bool | None:
        """Whether the training split has rows from one of these files; None if that cannot be known.

        Contents are not compared: files from elsewhere may be copies. False is said only of files that were held out.
        """
        if not origins.isdisjoint(self.origins("train")):
            return True
        return self._held_out(origins)

    def _held_out(self, origins: set[str]) -> bool | None:
        """False if all these files are those of the other splits, and else None."""
        held = self.origins("valid") | self.origins("test")
        return False if origins and origins <= held else None

    def called(self, split: Split) -> str:
        """What people know the rows of a split by: their files, or what makes them."""
        files = self.files(split)
        more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
        return ", ".join(files[:SHOWN]) + more if files else f"{type(self).__name__.lower()} data"

    def fingerprint(self) -> str:
        """Changes whenever what `read` gives would change. It is taken once, when first asked for: after that, files
        that change or go away change nothing."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return self._look()

    def unchanged(self) -> bool:
        """Whether the files are still those whose fingerprint was taken."""
        return self._look() == self._fingerprint

    def _look(self) -> str:
        return short_hash(type(self).__name__, *self.identity())

    def has(self, split: Split) -> bool:
        """Whether there is any row in a split."""
        return next(iter(self.read(split)), None) is not None


def short_hash(*facts: Any) -> str:
    """A short name for facts that JSON can hold."""
    return hashlib.sha256(json.dumps(facts, ensure_ascii=False).encode()).hexdigest()[:16]


def dice(seed: int, *texts: str) -> float:
    """A number in [0, 1) that depends on nothing but the texts and the seed: equal texts fall alike."""
    named = "\t".join([str(seed), *texts]).encode()
    return int.from_bytes(hashlib.blake2b(named, digest_size=8).digest()) / 2**64
