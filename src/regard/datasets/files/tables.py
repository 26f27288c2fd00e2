"""Tables of pairs: columns apart by tabs, or by commas as spreadsheets write them."""

import csv
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from regard.datasets.files.columns import Asked, Columns, choose
from regard.datasets.files.sources import EMPTY, FIRST, MISFIT, NOT_UTF8, TOO_LONG, Found, Source, no_text
from regard.datasets.lines import LONGEST, OVERLONG, Meter, as_text, raw_lines
from regard.errors import InputError

MARKS = {",": "commas", ";": "semicolons", "\t": "tabs"}
csv.field_size_limit(LONGEST)  # so that a long cell is dropped and counted like a long line anywhere

Record = list[str] | str
"""The cells of a row, or why there are none."""


class Table(Source):
    """Rows of cells, two of which are source and target."""

    def __init__(self, file: Path, asked: Asked) -> None:
        super().__init__(file)
        self.asked = asked

    @abstractmethod
    def records(self, meter: Meter | None = None) -> Iterator[tuple[int, Record]]:
        """All rows as cells, with the lines they begin at."""

    @abstractmethod
    def no_columns(self, lines: list[str]) -> InputError:
        """What is said of a table of one column."""

    @cached_property
    def columns(self) -> Columns:
        """Which of them are source and target."""
        rows = [(number, cells) for number, cells in islice(self.records(), FIRST) if isinstance(cells, list)]
        first = [(number, cells) for number, cells in rows if any(map(str.strip, cells))]
        if first and all(len(cells) == 1 for _, cells in first):
            raise self.no_columns([cells[0] for _, cells in first])
        return choose(first, self.asked, self.files[0])

    @property
    def note(self) -> str:
        return self.columns.note

    @property
    def wanted(self) -> str:
        return f"of {self.columns.width} columns"

    def check(self) -> None:
        assert self.columns

    def layout(self) -> list[Any]:
        columns = self.columns
        return [] if columns.plain else [columns.places, columns.width, columns.header]

    def rows(self, meter: Meter | None = None) -> Iterator[tuple[int, Found]]:
        columns = self.columns
        for number, cells in self.records(meter):
            if number == columns.header:
                continue
            if isinstance(cells, str):
                yield number, cells
                continue
            texts = columns.pick(cells)
            yield number, texts or (MISFIT if any(cell.strip() for cell in cells) else EMPTY)


class Tsv(Table):
    """A row a line, its columns apart by tabs."""

    def records(self, meter: Meter | None = None) -> Iterator[tuple[int, Record]]:
        for number, line in enumerate(raw_lines(self.files[0], meter), 1):
            text = as_text(line)
            yield number, no_text(line) if text is None else text.split("\t")

    def no_columns(self, lines: list[str]) -> InputError:
        commas = next((mark for mark in ",;" if all(mark in line for line in lines)), None)
        if commas:
            named = self.files[0].name.replace(".tsv", ".csv")
            said = f"no tabs but {MARKS[commas]} in its lines; if they part the columns, call it {named}"
            return InputError(f"{self.files[0]}: {said}")
        return InputError(f"{self.files[0]}: no tabs in its lines; wanted are a source, a tab and a target a line")


class Csv(Table):
    """Columns apart by commas or semicolons, cells in quotes where they hold one; line breaks in cells are spaces."""

    def records(self, meter: Meter | None = None) -> Iterator[tuple[int, Record]]:
        yield from self._cut(self._mark, meter)

    def _cut(self, mark: str, meter: Meter | None = None) -> Iterator[tuple[int, Record]]:
        lines = _Lines(self.files[0], meter)
        reader, number = csv.reader(lines, delimiter=mark, strict=True), 1
        try:
            for cells in reader:
                whole = not any("\udc80" <= letter <= "\udcff" or letter == "\0" for cell in cells for letter in cell)
                why = TOO_LONG if lines.overlong else "" if whole else NOT_UTF8
                yield number, why or [cell.replace("\n", " ") for cell in cells]
                number = reader.line_num + 1
                lines.overlong, lines.held = False, 0
        except csv.Error as error:
            raise InputError(
                f"{self.files[0]}: line {number:,}: a quote is not closed, or stands inside a cell ({error})\n"
                'cells with a quote or a comma in them stand in quotes, a quote in them twice: "say ""yes"""'
            ) from error

    @cached_property
    def _mark(self) -> str:
        """What parts the columns: the one mark that gives every row of the first the same number of them."""
        fits = []
        for mark in MARKS:
            try:
                widths = {len(cells) for _, cells in islice(self._cut(mark), FIRST) if cells}
            except InputError:
                continue
            fits += [mark] if len(widths) == 1 and widths != {1} else []
        if len(fits) > 1:
            named = [mark for mark in fits if self._has_header(mark)]
            if len(named) != 1:
                what = " or ".join(MARKS[mark] for mark in fits)
                raise InputError(
                    f"{self.files[0]}: columns apart by {what}? Both are in every line\n"
                    "put cells that hold one of them in quotes, or save it as .tsv with tabs"
                )
            fits = named
        return fits[0] if fits else ","

    def _has_header(self, mark: str) -> bool:
        first = next((cells for _, cells in self._cut(mark) if cells), [])
        return {str(name).casefold() for name in self.asked} <= {cell.strip().casefold() for cell in first}

    def no_columns(self, lines: list[str]) -> InputError:
        return InputError(f"{self.files[0]}: no commas in its lines; wanted are a source and a target a line")

    def layout(self) -> list[Any]:
        return ["csv", self._mark, self.columns.places, self.columns.width, self.columns.header]


class _Lines:
    """Lines as the reader of CSV wants them. What is not UTF-8 passes it as it is, told by what it left behind."""

    def __init__(self, file: Path, meter: Meter | None) -> None:
        self.file, self.overlong, self.held = file, False, 0
        self._lines = raw_lines(file, meter)

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.held += len(line)
        if self.held > 2 * LONGEST:
            raise csv.Error("a row over many lines that has no end")
        if line is OVERLONG:
            self.overlong = True
            return "\n"
        return line.decode("utf-8", "surrogateescape") + "\n"
