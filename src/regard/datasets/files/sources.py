"""One file of pairs or two parallel ones, read a row at a time."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeGuard

from regard.datasets.lines import LONGEST, OVERLONG, Meter, as_text, raw_lines
from regard.datasets.pairs import Pair
from regard.disk import json_value
from regard.errors import InputError

NOT_UTF8, MISFIT, EMPTY = "not UTF-8", "with too few or too many columns", "empty"
NOT_JSON, NO_TABLE = "not JSON", "JSON but no table"
TOO_LONG = f"in a line over {LONGEST >> 20} MiB"
FIRST = 100  # rows looked at to know a file

Found = Pair | str
"""A pair, or why there is none."""


class Source(ABC):
    """Where pairs stand."""

    def __init__(self, *files: Path) -> None:
        self.files = files

    @property
    def name(self) -> str:
        """As people know it."""
        return " and ".join(file.name for file in self.files)

    @property
    def note(self) -> str:
        """What is worth a second thought."""
        return ""

    @property
    def wanted(self) -> str:
        """What every row should be."""
        return "a pair of texts"

    def layout(self) -> list[Any]:
        """How it is read, as far as that is not a matter of course; as JSON can hold it."""
        return []

    @abstractmethod
    def check(self) -> None:
        """Refuse, by its first rows, what cannot be read."""

    @abstractmethod
    def rows(self, meter: Meter | None = None) -> Iterator[tuple[int, Found]]:
        """All rows with the numbers of their lines."""

    def culprit(self) -> Path:
        """The file whose lines are not UTF-8."""
        return next((file for file in self.files if any(_not_utf8(line) for line in raw_lines(file))), self.files[0])


class Parallel(Source):
    """Two files: line n of one is the translation of line n of the other."""

    def check(self) -> None:
        if self.files[0].samefile(self.files[1]):
            raise InputError(f"{self.files[0]} and {self.files[1]} are one and the same file; source and target differ")

    def rows(self, meter: Meter | None = None) -> Iterator[tuple[int, Found]]:
        one, other = (raw_lines(file, meter) for file in self.files)
        for number, (first, second) in enumerate(zip_longest(one, other)):
            if first is None or second is None:
                longer, shorter = self.files[::-1] if first is None else self.files
                more = 1 + sum(1 for _ in (other if first is None else one))
                counts = f"{number:,} {'line' if number == 1 else 'lines'} and {longer} has {number + more:,}"
                raise InputError(
                    f"{shorter} has {counts}: they do not belong together\n"
                    "line n of one must be the translation of line n of the other"
                )
            texts = as_text(first), as_text(second)
            if texts[0] is None or texts[1] is None:
                yield number + 1, no_text(first if texts[0] is None else second)
            else:
                yield number + 1, (texts[0], texts[1])


class JsonLines(Source):
    """A JSON table a line: {"de": …, "en": …}, also below "translation"."""

    def __init__(self, file: Path, keys: tuple[str, str]) -> None:
        super().__init__(file)
        self.keys = keys

    def check(self) -> None:
        tables = [table for table in self._first() if table]
        if not tables or any(all(is_text(table.get(key)) for key in self.keys) for table in tables):
            return
        known = list(dict.fromkeys(key for table in tables for key in table))
        texts = [key for key in known if all(is_text(table.get(key)) for table in tables)]
        says = texts if len(texts) == 2 else ["KEY", "KEY"]
        missing = " or ".join(repr(key) for key in self.keys if key not in known)
        what = f"no {missing} in its lines" if missing else "no texts in its lines"
        raise InputError(
            f"{self.files[0]}: {what}; the keys there are: {', '.join(known)}\n"
            f"say data.source={says[0]} data.target={says[1]}, or the other way round"
        )

    @property
    def wanted(self) -> str:
        return f"JSON with texts for {self.keys[0]!r} and {self.keys[1]!r}"

    def _first(self) -> list[dict[str, Any] | None]:
        lines = zip(range(FIRST), raw_lines(self.files[0]), strict=False)
        return [_table(line) for _, line in lines if line.strip()]

    def rows(self, meter: Meter | None = None) -> Iterator[tuple[int, Found]]:
        for number, line in enumerate(raw_lines(self.files[0], meter), 1):
            if not line.strip():
                yield number, EMPTY
            elif as_text(line) is None:
                yield number, no_text(line)
            else:
                table = _table(line)
                one, other = (table.get(key) for key in self.keys) if table else (None, None)
                yield number, (one, other) if is_text(one) and is_text(other) else without_text(line, table, self.keys)


def no_text(line: bytes) -> str:
    """Why a line cannot be read."""
    return TOO_LONG if line is OVERLONG else NOT_UTF8


def _not_utf8(line: bytes) -> bool:
    return line is not OVERLONG and as_text(line) is None


def _table(line: bytes) -> dict[str, Any] | None:
    row = json_value(line)
    inner = row.get("translation") if isinstance(row, dict) else None
    row = inner if isinstance(inner, dict) else row
    return row if isinstance(row, dict) else None


def without_text(line: bytes, table: dict[str, Any] | None, keys: Sequence[str]) -> str:
    """Why a line of JSON has not a text for every key: the first reason there is."""
    if table is None:
        return NOT_JSON if json_value(line) is None else NO_TABLE
    key = next(key for key in keys if not is_text(table.get(key)))
    if key not in table:
        return f"without {key!r}"
    return f"with null for {key!r}" if table[key] is None else f"with no text for {key!r}"


def is_text(text: Any) -> TypeGuard[str]:
    """JSON can name halves of characters, which are no text."""
    return isinstance(text, str) and not any("\ud800" <= letter <= "\udfff" for letter in text)
