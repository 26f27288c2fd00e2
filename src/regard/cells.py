"""Cells of tables that spreadsheets open: whatever a text begins with, it is no formula."""

import re
from collections.abc import Iterable
from typing import Any, final

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes a text that begins with them for
QUOTED = re.compile('[",\n\r]')  # Python's own writer forgets \r, at which its reader ends a row


@final
class CsvWriter:
    """Rows of a CSV file. A text that begins like a formula gets an apostrophe before it; numbers stay numbers."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def row(self, cells: Iterable[str | float | int | None]) -> None:
        """One row more."""
        self._file.write(",".join(map(_cell, cells)) + "\n")


def text_cell(text: str) -> str:
    """A text as a cell: `'=1+1` of `=1+1`, and `-1.5` of `-1.5`."""
    return f"'{text}" if text.startswith(FORMULA) and not _is_number(text) else text


def _cell(value: str | float | int | None) -> str:
    text = "" if value is None else text_cell(value) if isinstance(value, str) else str(value)
    return '"' + text.replace('"', '""') + '"' if QUOTED.search(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
