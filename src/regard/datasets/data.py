"""What to learn from: the contract of all data, whatever a row of them is."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")
Row = TypeVar("Row")
SHOWN = 3


@dataclass
class Report:
    """What became of a split: how many rows were kept, and how many were left out, why, and where the first stood."""

    kept: int = 0
    left_out: dict[str, list[int]] = field(default_factory=dict)
    """Why → how many, and the numbers of the first few."""

    def leave(self, why: str, number: int) -> None:
        """One row less."""
        held = self.left_out.setdefault(why, [0])
        held[0] += 1
        if len(held) <= SHOWN:
            held.append(number)

    def count(self, why: str) -> int:
        """How many were left out for one reason."""
        return self.left_out.get(why, [0])[0]

    def __str__(self) -> str:
        said = f"{self.kept:,}"
        if self.left_out:
            total = sum(held[0] for held in self.left_out.values())
            why = "; ".join(f"{held[0]:,} {why} ({_places(held)})" for why, held in self.left_out.items())
            said += f", {total:,} left out: {why}"
        return said


def _places(held: list[int]) -> str:
    first = ", ".join(f"{number:,}" for number in held[1:])
    return f"line{'s' if held[0] > 1 else ''} {first}{', …' if held[0] > len(held) - 1 else ''}"


class Data(ABC, Generic[Row]):
    """Rows in three splits that share nothing; which rows a split has depends on the options alone."""

    @abstractmethod
    def read(self, split: Split) -> Iterator[Row]:
        """The rows of a split, always in the same order."""

    @abstractmethod
    def identity(self) -> list[Any]:
        """All that decides what `read` gives, as JSON can hold it: contents of files, options, versions."""

    def numbered(self, split: Split, report: Report) -> Iterator[tuple[int, Row]]:
        """The rows with the places they stand at; what was left out on the way goes into the report."""
        for number, row in enumerate(self.read(split), 1):
            report.kept += 1
            yield number, row

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
