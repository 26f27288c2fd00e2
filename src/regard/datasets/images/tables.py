"""Images that a table speaks of: a file and a label a row, or the image itself in the table."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from regard.datasets.data import Split
from regard.datasets.files.sources import FIRST
from regard.datasets.files.tables import Csv, Tsv
from regard.datasets.images.layout import SPLIT_FOLDERS
from regard.datasets.images.picture import LARGE, MOST_BYTES, UnreadError
from regard.datasets.images.sources import LONGEST, NOT_READ, Content, Entry, Source, is_text, shown
from regard.disk import json_value, read_bytes
from regard.disk.door import ENDLESS, opened
from regard.errors import InputError

IMAGE = ("image", "img", "file", "file_name", "filename", "path", "image_path")
LABEL = ("label", "labels", "class", "category", "target", "fine_label")
NO_IMAGE, NOT_THERE = "without an image", "not there"
TOGETHER = 8  # rows of a parquet file that are held at once
MOST_GROUP = 2 << 30  # bytes of a group of such rows


class FileTable(Source):
    """A .csv or .tsv: a file, named from where the table is, and what it shows. A column `split` says which split."""

    def __init__(self, path: Path, image: str, label: str) -> None:
        super().__init__(path)
        self.asked = image, label

    @property
    def is_table(self) -> bool:
        return True

    def entries(self) -> Iterator[Entry]:
        table = (Tsv if self.path.suffix.lower() == ".tsv" else Csv)(self.path, ("file", "label"))
        first = next((cells for _, cells in islice(table.records(), FIRST) if isinstance(cells, list)), [])
        header = [cell.strip() for cell in first]
        image, label, split, named = self._columns(header)
        for number, cells in table.records():
            if named and cells == first:
                continue
            self.counted(number, "".join(cells))
            if isinstance(cells, str) or len(cells) <= max(image, label) or not cells[image].strip():
                yield Entry(f"line {number}", number, bad=NO_IMAGE)
            else:
                belongs = SPLIT_FOLDERS.get(cells[split].strip().casefold(), "other") if split < len(cells) else ""
                yield Entry(cells[image].strip(), number, label=shown(cells[label].strip()), split=belongs)

    def _columns(self, header: list[str]) -> tuple[int, int, int, bool]:
        """Of the image, the label and the split, and whether they have names."""
        image, label = _column(header, self.asked[0], IMAGE), _column(header, self.asked[1], LABEL)
        folded = [name.casefold() for name in header]
        if image is not None and label is not None:
            return image, label, folded.index("split") if "split" in folded else len(header), True
        if len(header) == 2 and not any(self.asked) and (self.path.parent / header[0]).is_file():
            return 0, 1, 2, False
        raise InputError(f"{self.path}: {_unclear(header, self.asked)}")

    def contents(self, wanted: Iterable[Entry]) -> Iterator[Content]:
        for entry in wanted:
            try:
                yield entry, read_bytes(self.path.parent / entry.name, links=True, most=MOST_BYTES)
            except InputError as error:
                why = NOT_THERE if "no such file" in str(error) else NOT_READ
                yield entry, UnreadError(entry.name, why)


class Parquet(Source):
    """A table as Hugging Face datasets store images: a column of bytes, and one of labels, named in its head."""

    def __init__(self, path: Path, image: str, label: str, split: Split | None = None) -> None:
        super().__init__(path)
        self.asked, self.split = (image, label), split or ""

    @property
    def is_table(self) -> bool:
        return True

    def entries(self) -> Iterator[Entry]:
        with self._open() as table:
            image, label, named = self._columns(table)
            columns = [label, f"{image}.path"] if named else [label]
            names, number = _class_names(table.schema_arrow.metadata, label), 0
            for batch in table.iter_batches(batch_size=4096, columns=columns):
                paths = batch.column(image).field("path").to_pylist() if named else [None] * len(batch)
                for shows, path in zip(batch.column(label).to_pylist(), paths, strict=True):
                    number += 1
                    called = f"row {number}" + (
                        f" ({path[:LONGEST]})" if isinstance(path, str) and is_text(path) else ""
                    )
                    self.counted(number, called)
                    yield Entry(called, number, label=_label(shows, names), split=self.split)

    def contents(self, wanted: Iterable[Entry]) -> Iterator[Content]:
        waiting = iter(wanted)
        entry, number = next(waiting, None), 0
        with self._open() as table:
            image, _, named = self._columns(table)
            for batch in table.iter_batches(batch_size=TOGETHER, columns=[f"{image}.bytes" if named else image]):
                held = batch.column(0).field("bytes") if named else batch.column(0)
                for value in held:
                    number += 1
                    if entry is None:
                        return
                    if entry.at == number:
                        yield entry, _content(entry, value)
                        entry = next(waiting, None)

    def _columns(self, table: Any) -> tuple[str, str, bool]:
        """Of images and labels, and whether images have names beside their bytes."""
        schema = table.schema_arrow
        places = [_column(schema.names, asked, usual) for asked, usual in zip(self.asked, (IMAGE, LABEL), strict=True)]
        if places[0] is None or places[1] is None:
            raise InputError(f"{self.path}: {_unclear(schema.names, self.asked)}")
        image, label = (schema.names[place] for place in places if place is not None)
        kind = str(schema.field(image).type)
        if kind.startswith("struct") and "bytes: " in kind:
            return image, label, "path: " in kind
        if kind not in ("binary", "large_binary"):
            raise InputError(f"{self.path}: no images in the column {image!r} but {kind[:60]}; say data.image=NAME")
        return image, label, False

    @contextmanager
    def _open(self) -> Iterator[Any]:
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise InputError(f"{self.path}: parquet is read by pyarrow: pip install 'regard[parquet]'") from error
        with opened(self.path, ENDLESS, links=True) as file:
            try:
                table = ParquetFile(file, pre_buffer=False)
                groups = (table.metadata.row_group(number) for number in range(table.metadata.num_row_groups))
                if max((group.total_byte_size for group in groups), default=0) > MOST_GROUP:
                    raise InputError(
                        f"{self.path}: a group of its rows is over {MOST_GROUP >> 30} GiB; write smaller ones"
                    )
                yield table
            except InputError:
                raise
            except (ArrowException, OSError, ValueError) as error:  # a name that is no text is a ValueError
                raise InputError(f"{self.path}: cannot be read: {str(error).splitlines()[0][:200]}") from error


def _column(names: Sequence[str], asked: str, usual: Sequence[str]) -> int | None:
    """The place of a column by its name, or by the first of the usual names."""
    folded = [name.casefold() for name in names]
    return next((folded.index(name) for name in ([asked.casefold()] if asked else usual) if name in folded), None)


def _unclear(names: Sequence[str], asked: tuple[str, str]) -> str:
    said = " and ".join(f"data.{key}={name}" for key, name in zip(("image", "label"), asked, strict=True) if name)
    there = ", ".join(shown(name[:40]) for name in names[:12])
    what = f"not the columns of {said}" if said else "which columns are image and label is not clear"
    return f"{what}; there are: {there}\nsay data.image=NAME data.label=NAME"


def _class_names(metadata: Any, label: str) -> list[str]:
    """What the numbers of a label mean, as Hugging Face writes it into the head of a table."""
    table = json_value((metadata or {}).get(b"huggingface", b"{}"))
    for key in ("info", "features", label, "names"):
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, list) and all(isinstance(name, str) for name in table) else []


def _label(shows: Any, names: list[str]) -> str:
    if isinstance(shows, int) and not isinstance(shows, bool):
        return shown(names[shows]) if 0 <= shows < len(names) else "" if shows < 0 else str(shows)
    return shown(shows.strip()) if isinstance(shows, str) else str(shows) if isinstance(shows, bool) else ""


def _content(entry: Entry, value: Any) -> bytes | UnreadError:
    content = value.as_py() if value.is_valid else None
    if not isinstance(content, bytes):
        return UnreadError(entry.name, NO_IMAGE)
    return content if len(content) <= MOST_BYTES else UnreadError(entry.name, LARGE)
