"""Images that a table speaks of: a file and a label a row, or the image itself in the table."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, repeat
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
MOST_GROUP = 2 << 30  # bytes of a group of such rows


class FileTable(Source):
    """A .csv or .tsv: a file, named from where the table is, and what it shows. A column `split` says which split."""

    def __init__(self, path: Path, image: str, label: str | None) -> None:
        """Where there is no `label`, nobody wants to know what images show."""
        super().__init__(path)
        self.asked = image, label

    @property
    def is_table(self) -> bool:
        return True

    @property
    def root(self) -> Path:
        return self.path.parent

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
                yield Entry(f"line {number}", number, bad=cells if isinstance(cells, str) else NO_IMAGE)
            else:
                belongs = SPLIT_FOLDERS.get(cells[split].strip().casefold(), "other") if split < len(cells) else ""
                shows = shown(cells[label].strip()) if label >= 0 else ""
                yield Entry(cells[image].strip(), number, label=shows, split=belongs)

    def _columns(self, header: list[str]) -> tuple[int, int, int, bool]:
        """Of the image, the label (or -1) and the split, and whether they have names."""
        image, label = _column(header, self.asked[0], IMAGE), _label_column(header, self.asked[1])
        folded = [name.casefold() for name in header]
        if image is not None and label is not None:
            return image, label, folded.index("split") if "split" in folded else len(header), True
        widths = (2,) if self.asked[1] is not None else (1, 2)
        if len(header) in widths and not any(self.asked) and (self.path.parent / header[0]).is_file():
            return 0, -1 if self.asked[1] is None else 1, len(header), False
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

    def __init__(self, path: Path, image: str, label: str | None, split: Split | None = None) -> None:
        super().__init__(path)
        self.asked, self.split = (image, label), split or ""

    @property
    def is_table(self) -> bool:
        return True

    def entries(self) -> Iterator[Entry]:
        with self._open() as table:
            image, label, _, named = self._columns(table)
            names = _class_names(table.schema_arrow.metadata, label)
            for number, (shows, path) in enumerate(_facts(table, image if named else "", label), 1):
                called = f"row {number}" + (f" ({path[:LONGEST]})" if isinstance(path, str) and is_text(path) else "")
                self.counted(number, called)
                yield Entry(called, number, label=_label(shows, names), split=self.split)

    def contents(self, wanted: Iterable[Entry]) -> Iterator[Content]:
        waiting = iter(wanted)
        entry, number = next(waiting, None), 0
        with self._open() as table:
            image, _, inside, _ = self._columns(table)
            for batch in table.iter_batches(batch_size=1, columns=[f"{image}.bytes" if inside else image]):
                held = batch.column(0).field("bytes") if inside else batch.column(0)
                for value in held:
                    number += 1
                    if entry is None:
                        return
                    if entry.at == number:
                        yield entry, _content(entry, value)
                        entry = next(waiting, None)

    def _columns(self, table: Any) -> tuple[str, str, bool, bool]:
        """Of images and labels (or nothing), whether bytes stand inside of it, and whether names stand beside them."""
        schema = table.schema_arrow
        place, shows = _column(schema.names, self.asked[0], IMAGE), _label_column(schema.names, self.asked[1])
        if place is None or shows is None:
            raise InputError(f"{self.path}: {_unclear(schema.names, self.asked)}")
        image, label = schema.names[place], schema.names[shows] if shows >= 0 else ""
        kind = str(schema.field(image).type)
        if kind.startswith("struct") and "bytes: " in kind:
            return image, label, True, "path: " in kind
        if kind not in ("binary", "large_binary"):
            raise InputError(f"{self.path}: no images in the column {image!r} but {kind[:60]}; say data.image=NAME")
        return image, label, False, False

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


def _label_column(names: Sequence[str], asked: str | None) -> int | None:
    """The same of what images show; -1 where nobody wants to know."""
    return -1 if asked is None else _column(names, asked, LABEL)


def _unclear(names: Sequence[str], asked: tuple[str, str | None]) -> str:
    said = " and ".join(f"data.{key}={name}" for key, name in zip(("image", "label"), asked, strict=True) if name)
    there = ", ".join(shown(name[:40]) for name in names[:12]) or "none"
    if asked[1] is None:
        return f"which column is the image is not clear; there are: {there}\ncall it {IMAGE[0]!r}"
    what = f"not the columns of {said}" if said else "which columns are image and label is not clear"
    return f"{what}; there are: {there}\nsay data.image=NAME data.label=NAME"


def _facts(table: Any, named: str, label: str) -> Iterator[tuple[Any, Any]]:
    """What each image of a parquet file shows, and its name in the column `named`; nothing of what is not there."""
    columns = [*([label] if label else []), *([f"{named}.path"] if named else [])]
    if not columns:
        yield from repeat(("", None), table.metadata.num_rows)
        return
    for batch in table.iter_batches(batch_size=4096, columns=columns):
        paths = batch.column(named).field("path").to_pylist() if named else repeat(None, len(batch))
        labels = batch.column(label).to_pylist() if label else repeat("", len(batch))
        yield from zip(labels, paths, strict=True)


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
    if not value.is_valid or not hasattr(value, "as_buffer"):
        return UnreadError(entry.name, NO_IMAGE)
    content = value.as_buffer()
    return content.to_pybytes() if content.size <= MOST_BYTES else UnreadError(entry.name, LARGE)
