"""From what users name to where pairs stand."""

from codecs import BOM_UTF8
from collections.abc import Sequence
from pathlib import Path

from regard.datasets.files.columns import Asked
from regard.datasets.files.missing import not_there
from regard.datasets.files.named import expanded, form_of
from regard.datasets.files.sources import JsonLines, Parallel, Source
from regard.datasets.files.suspect import LOOK, refuse_no_text
from regard.datasets.files.tables import Csv, Tsv
from regard.datasets.lines import as_text, head, packed_or_plain
from regard.errors import InputError


def find(names: Sequence[str], asked: Asked, key: str) -> list[Source]:
    """The sources of all names, in their order; `key` is where the names were said."""
    sides = str(asked[0]), str(asked[1])
    found = [_source(one, asked, sides, key) for name in names for one in expanded(name, sides)]
    seen: set[Path] = set()
    for source in found:
        if source.files[0] in seen:
            raise InputError(f"{source.files[0]}: named twice; {key} has it in two of its names")
        seen.add(source.files[0])
    return found


def _source(name: str, asked: Asked, sides: tuple[str, str], key: str) -> Source:
    form, path = form_of(name), packed_or_plain(name)
    if form:
        if path is None:
            raise not_there(name, sides, key)
        return _one(path, form, asked, sides)
    two = [packed_or_plain(f"{name}.{side}") for side in sides]
    if two[0] is not None and two[1] is not None:
        return _checked(Parallel(two[0], two[1]))
    form = _form_inside(path) if path is not None and two == [None, None] else ""
    if path is None or not form:
        raise not_there(name, sides, key)
    return _one(path, form, asked, sides)


def _one(path: Path, form: str, asked: Asked, sides: tuple[str, str]) -> Source:
    made: dict[str, Source] = {"tsv": Tsv(path, asked), "csv": Csv(path, asked), "jsonl": JsonLines(path, sides)}
    return _checked(made[form])


def _checked(source: Source) -> Source:
    for file in source.files:
        refuse_no_text(file)
    source.check()
    return source


def _form_inside(path: Path) -> str:
    """What the first lines of a file look like whose name does not say it."""
    lines = [as_text(line) or "" for line in head(path, LOOK).removeprefix(BOM_UTF8).split(b"\n")[:-1]]
    lines = [line for line in lines if line.strip()]
    if lines and all(line.startswith("{") for line in lines):
        return "jsonl"
    return "tsv" if lines and all("\t" in line for line in lines) else ""
