"""Where documents stand: one a file, a line, a paragraph, a JSON table or a row of a parquet file."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Literal

from regard.datasets.documents import pieces
from regard.datasets.files.leaks import normal
from regard.datasets.files.sources import EMPTY, FIRST, NOT_UTF8, TOO_LONG, is_text, without_text
from regard.datasets.files.suspect import looks_like, refuse_array
from regard.datasets.lines import LONGEST, OVERLONG, as_text, raw_lines, refusals, unpacked
from regard.disk import json_value
from regard.disk.door import ENDLESS, opened
from regard.errors import InputError

Unit = Literal["file", "line", "paragraph"]
BLOCK = 1 << 16  # characters that are read at once
NO_TEXT = "without a text"
STRINGS = ("string", "large_string", "string_view")  # types of parquet columns


@dataclass(frozen=True)
class Document:
    """A text by its number in its source: held whole, or so long that its file is read again and again."""

    number: int
    text: str | None = None
    file: Path | None = None
    bad: str = ""
    """Why there is none."""

    def blocks(self) -> Iterator[str]:
        """The text in blocks."""
        if self.file is not None:
            yield from read_blocks(self.file)
        elif self.text:
            yield self.text

    def digest(self) -> bytes:
        """The same for texts that differ in case and white space alone."""
        made = blake2b(digest_size=16)
        for piece in pieces(self.blocks()):
            made.update(f"{normal(piece)} ".encode())
        return made.digest()


class Source(ABC):
    """One file with one or more documents in it."""

    unit = "line"

    def __init__(self, file: Path) -> None:
        self.file = file

    @abstractmethod
    def documents(self) -> Iterator[Document]:
        """All of them, numbered from 1; those that cannot be read say why."""

    def check(self) -> None:
        """Refuse at once what the first rows show."""
        return


class Whole(Source):
    """The file is one document."""

    unit = "file"

    def documents(self) -> Iterator[Document]:
        yield Document(1, file=self.file)


class Lines(Source):
    """Every line is a document."""

    def documents(self) -> Iterator[Document]:
        for number, line in enumerate(raw_lines(self.file), 1):
            text = as_text(line)
            bad = TOO_LONG if line is OVERLONG else NOT_UTF8 if text is None else "" if text.strip() else EMPTY
            yield Document(number, text, bad=bad)


class Paragraphs(Source):
    """Lines between empty ones are a document, numbered by its first line. Where it grows beyond what a line may have
    it ends, and what follows is another: a file may have no empty line at all."""

    def documents(self) -> Iterator[Document]:
        held, size, first = list[str](), 0, 1
        for one in Lines(self.file).documents():
            if one.bad not in ("", EMPTY):
                yield one
                continue
            line = "" if one.bad else one.text or ""
            if held and (not line or size + len(line) > LONGEST):
                yield Document(first, "\n".join(held))
                held, size = [], 0
            if line:
                first = first if held else one.number
                held.append(line)
                size += len(line)
        if held:
            yield Document(first, "\n".join(held))


class JsonLines(Source):
    """A JSON table a line, one key of which is the text."""

    def __init__(self, file: Path, key: str) -> None:
        super().__init__(file)
        self.key = key

    def documents(self) -> Iterator[Document]:
        for number, line in enumerate(raw_lines(self.file), 1):
            value = None if line is OVERLONG else json_value(line)
            table = value if isinstance(value, dict) else None
            text = None if table is None else table.get(self.key)
            if is_text(text):
                yield _whole(number, text)
            elif line is OVERLONG or not line.strip():
                yield Document(number, bad=TOO_LONG if line is OVERLONG else EMPTY)
            else:
                bad = NOT_UTF8 if as_text(line) is None else without_text(line, table, [self.key])
                yield Document(number, bad=bad)

    def check(self) -> None:
        lines = [line for _, line in zip(range(FIRST), raw_lines(self.file), strict=False) if line.strip()]
        tables = [table for table in map(json_value, lines) if isinstance(table, dict)]
        # An array over several lines may end in a line that is a table by itself.
        if lines and (not tables or (lines[0].lstrip().startswith(b"[") and json_value(lines[0]) is None)):
            refuse_array(self.file)
        if tables and not any(isinstance(table.get(self.key), str) for table in tables):
            known = list(dict.fromkeys(str(key) for table in tables for key, value in table.items() if is_text(value)))
            there = f"keys with texts are: {', '.join(known)}; say data.text=KEY" if known else "nor any text at all"
            raise InputError(f"{self.file}: no {self.key!r} in its lines; {there}")


class Parquet(Source):
    """A table as Hugging Face datasets store them, one column of which is the text."""

    unit = "row"

    def __init__(self, file: Path, key: str) -> None:
        super().__init__(file)
        self.key = key

    def documents(self) -> Iterator[Document]:
        number = 0
        with self._table() as table:
            for batch in table.iter_batches(batch_size=256, columns=[self.key]):
                for text in batch.column(0).to_pylist():
                    number += 1
                    yield _whole(number, text)

    def check(self) -> None:
        with self._table() as table:
            columns = {field.name: _kind(field.type) for field in table.schema_arrow}
        if columns.get(self.key) in STRINGS:
            return
        texts = [name for name, kind in columns.items() if kind in STRINGS]
        what = (
            f"column {self.key!r} has no texts ({columns[self.key]})"
            if self.key in columns
            else f"no column {self.key!r}"
        )
        there = f"columns with texts are: {', '.join(texts)}; say data.text=NAME" if texts else "no column has any"
        raise InputError(f"{self.file}: {what}; {there}")

    @contextmanager
    def _table(self) -> Iterator[Any]:
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise InputError(f"{self.file}: parquet is read by pyarrow: pip install 'regard[parquet]'") from error
        with opened(self.file, ENDLESS, links=True) as file:
            try:
                yield ParquetFile(file)
            except (ArrowException, OSError) as error:
                raise InputError(f"{self.file}: cannot be read: {str(error).splitlines()[0][:200]}") from error


def _kind(column: Any) -> str:
    """The type of a column, or of what a dictionary of its values holds."""
    return str(column.value_type if str(column).startswith("dictionary<") else column)


def _whole(number: int, text: Any) -> Document:
    if not is_text(text):
        return Document(number, bad=NO_TEXT)
    return Document(number, text, bad="" if text.strip() else EMPTY)


def read_blocks(file: Path) -> Iterator[str]:
    """The text of a file, line ends as \\n, without a byte order mark."""
    with refusals(file), opened(file, ENDLESS, links=True) as plain, unpacked(plain, file) as inner:
        reader = TextIOWrapper(inner, encoding="utf-8-sig", newline=None)
        try:
            while block := reader.read(BLOCK):
                yield block
        except UnicodeDecodeError as error:
            raise InputError(f"{file}: not UTF-8 ({error.reason}); {looks_like(file)}") from error
        finally:
            reader.detach()
