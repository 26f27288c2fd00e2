"""From what users name to where their documents stand: files, folders, patterns."""

from collections.abc import Sequence
from glob import escape
from pathlib import Path

from regard.datasets.files.named import ENDINGS
from regard.datasets.files.suspect import refuse_array, refuse_no_text
from regard.datasets.lines import bare_name, packed_or_plain
from regard.datasets.patterns import has_magic, matching, missing
from regard.datasets.texts.sources import JsonLines, Lines, Paragraphs, Parquet, Source, Unit, Whole
from regard.errors import InputError

PLAIN: dict[Unit, type[Source]] = {"file": Whole, "line": Lines, "paragraph": Paragraphs}
TABLES = ("tsv", "csv")


def find(names: Sequence[str], text: str, unit: Unit, key: str) -> list[Source]:
    """The sources of all names, in their order; `key` is where the names were said."""
    found = [_source(path, text, unit) for name in names for path in _expanded(name, key)]
    seen: set[Path] = set()
    for source in found:
        if source.file in seen:
            raise InputError(f"{source.file}: named twice; {key} has it in two of its names")
        seen.add(source.file)
    return found


def _expanded(name: str, key: str) -> list[Path]:
    """The file of a name, all files below a folder, or those that a pattern matches; sorted, hidden ones left out."""
    path = packed_or_plain(name)
    if path is not None:
        return [path]
    if Path(name).is_dir():
        inside = matching(f"{escape(name)}/**/*")
        if not inside:
            raise InputError(f"{name}: a folder without files; {key} names what to read")
        return list(map(Path, inside))
    if has_magic(name):
        found = matching(name)
        if not found:
            raise InputError(f"{name}: no file matches")
        return list(map(Path, found))
    if Path(name).exists():
        raise InputError(f"{name}: no plain file; data are read more than once, so write them to a file first")
    raise missing(name, "file", cutoff=0.75)  # endings are alike anyway


def _source(path: Path, text: str, unit: Unit) -> Source:
    ending = bare_name(path).suffix.lower()
    form = ENDINGS.get(ending, "")
    if form in TABLES:
        raise InputError(f"{path}: a table of columns; save the column with the texts as .jsonl, or as plain text")
    if ending == ".parquet":
        source: Source = Parquet(path, text)
    else:
        refuse_no_text(path)
        if form != "jsonl":
            refuse_array(path)
        source = JsonLines(path, text) if form == "jsonl" else PLAIN[unit](path)
    source.check()
    return source
