"""What became of rows on their way from the user's files to what is learnt."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SHOWN, FEW = 3, 100
ROW = "row"  # of no kind that people have a word for


@dataclass
class Dropped:
    """How many rows were left out for one reason, and where the first few stood."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        units, _, numbers = zip(*(place.rpartition(" ") for place in self.first), strict=True)
        same = len(numbers) > 1 and len(set(units)) == 1 and all(number[:1].isdigit() for number in numbers)
        first = f"{units[0]}s {', '.join(numbers)}" if same and units[0] else ", ".join(self.first)
        return first + (", …" if self.count > len(numbers) else "")


@dataclass
class Report:
    """What became of the rows of a split: how many were read, kept, held out for other splits, and dropped and why."""

    kept: int = 0
    left_out: dict[str, Dropped] = field(default_factory=dict)
    """By reason."""
    read: int = 0
    held_out: int = 0
    """Rows that validation or test got."""
    out_of: str = ""
    """The split whose rows these were, where they were held out of one."""
    files: list[str] = field(default_factory=list)
    rows_before: list[int] = field(default_factory=list)
    """Of each file, how many rows stand in the files before it: rows are numbered through."""
    unit: str = ROW
    """What a row is in the file: a line, an image."""
    notes: list[str] = field(default_factory=list)
    """What is worth a second thought."""

    def __post_init__(self) -> None:
        self.read = self.read or self.kept + self.held_out + self.dropped

    @property
    def dropped(self) -> int:
        """How many were left out, for whatever reason."""
        return sum(held.count for held in self.left_out.values())

    def keep(self) -> None:
        """One row more."""
        self.read += 1
        self.kept += 1

    def hold(self) -> None:
        """One that another split got."""
        self.read += 1
        self.held_out += 1

    def drop(self, why: str, number: int, named: str = "") -> None:
        """One row that is left out as it is read; `named` is what people know it by, if not its number."""
        self.read += 1
        self._count(why, number, named)

    def drop_kept(self, why: str, number: int, named: str = "") -> None:
        """One that was kept, and is left out after all."""
        self.kept -= 1
        self._count(why, number, named)

    def _count(self, why: str, number: int, named: str) -> None:
        held = self.left_out.setdefault(why, Dropped())
        held.count += 1
        if held.count <= SHOWN:
            held.first.append(named or self.place(number))

    def count(self, why: str) -> int:
        """How many were left out for one reason."""
        return self.left_out.get(why, Dropped()).count

    def place(self, number: int) -> str:
        """`line 7`, or `b.tsv line 7` where there are several files."""
        if len(self.files) < 2:
            return f"{self.unit} {number:,}"
        file = bisect_left(self.rows_before, number) - 1
        return f"{self.files[file]} {self.unit} {number - self.rows_before[file]:,}"

    def __str__(self) -> str:
        parts = [self._read()]
        if self.left_out:
            why = ", ".join(f"{held.count:,} {why} ({held})" for why, held in self.left_out.items())
            parts[0] += f", {self.dropped:,} dropped: {why}"
        parts += [f"{self.held_out:,} held out"] if self.held_out else []
        parts += [f"{self.kept:,} left"] if self.kept != self.read else []
        return "; ".join([*parts, *self.notes])

    def _read(self) -> str:
        if not self.read:
            return "none"
        if self.out_of:
            return f"{self.read:,} held out of {self.out_of}"
        named = self.files[0] if len(self.files) == 1 else f"{len(self.files):,} files"
        where = f" from {named}" if self.files else ""
        what = "" if where or self.unit == ROW else f" {self.unit}{'s' * (self.read != 1)}"
        return f"{self.read:,}{what}{' read' if where or self.kept != self.read else ''}{where}"

    @classmethod
    def open(cls, table: Mapping[str, Any]) -> "Report":
        """From what `asdict` gave."""
        left_out = {why: Dropped(**held) for why, held in table["left_out"].items()}
        return cls(**{**table, "left_out": left_out})


def note_untested(report: Report, instead: Report, remedy: str) -> None:
    """Say of a test split without rows what is scored instead."""
    if not report.kept:
        scored = "the valid split" if instead.kept else "nothing"
        report.notes.append(f"evaluations score {scored}{f', unless {remedy}' if remedy else ''}")


def note_few(report: Report, remedy: str) -> None:
    """Say of a validation split that its scores will be rough, or that there are none."""
    if report.kept < FEW:
        rough = "scores of so few will be rough" if report.kept else "so no score will tell how well it learns"
        report.notes.append(f"{rough}{f': {remedy}' if remedy else ''}")


def all_held_out(report: Report) -> str:
    """What is said of training data of which validation and test leave nothing."""
    return f"nothing of it is left to learn from: {report}\nlower data.valid_share or data.test_share"
