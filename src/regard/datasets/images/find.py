"""From what users name to where their images stand: folders, archives, tables, patterns."""

import re
from collections.abc import Sequence
from pathlib import Path

from regard.datasets.data import Split
from regard.datasets.images.layout import SPLIT_FOLDERS
from regard.datasets.images.picture import endings
from regard.datasets.images.sources import Source
from regard.datasets.images.tables import FileTable, Parquet
from regard.datasets.images.tars import Tar
from regard.datasets.images.tree import Tree
from regard.datasets.images.zips import Zip
from regard.datasets.lines import MAGIC
from regard.datasets.patterns import has_magic, matching, missing
from regard.disk.door import ENDLESS, opened
from regard.errors import InputError

TABLES = (".csv", ".tsv")
ADDRESS = re.compile(r"(?:^|/)[a-z]{2,}:/", re.IGNORECASE)  # of the network, taken for the name of a file
WANTED = "wanted is a folder with a folder for each class, a .zip or .tar of such, a .parquet or a .csv"


def find(names: Sequence[str], image: str, label: str | None, key: str) -> list[Source]:
    """The sources of all names, in their order; `key` is where the names were said."""
    found = [source for name in names for path in _expanded(name) for source in _sources(path, image, label)]
    seen: set[Path] = set()
    for source in found:
        if source.path in seen:
            raise InputError(f"{source.path}: named twice; {key} has it in two of its names")
        seen.add(source.path)
    return found


def _expanded(name: str) -> list[Path]:
    path = Path(name)
    if path.exists():
        return [path]
    if ADDRESS.search(name):
        raise InputError(f"{name}: nothing is fetched from the network; save the images first, and name their folder")
    if has_magic(name):
        found = matching(name)
        if not found:
            raise InputError(f"{name}: no file matches")
        return list(map(Path, found))
    raise missing(name, "folder or file")


def _sources(path: Path, image: str, label: str | None) -> list[Source]:
    if path.is_dir():
        tables = sorted([*path.glob("*.parquet"), *path.glob("data/*.parquet")])
        return [Parquet(table, image, label, _split_of(table)) for table in tables] or [Tree(path)]
    if path.suffix.lower() in TABLES:
        return [FileTable(path, image, label)]
    with opened(path, ENDLESS, links=True) as file:
        first = file.read(512)
    if first.startswith(b"PAR1"):
        return [Parquet(path, image, label)]
    if first.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return [Zip(path)]
    if first[257:262] == b"ustar" or path.suffix.lower() == ".tar" or first.startswith(tuple(MAGIC)):
        return [Tar(path)]
    one = f"a single image; {WANTED}" if path.suffix.lower() in endings() else f"not images; {WANTED}"
    raise InputError(f"{path}: {one}")


def _split_of(table: Path) -> Split | None:
    """By the first word of its name, as in `train-00000-of-00002.parquet`, or by its folder."""
    words = (table.stem.partition("-")[0], table.parent.name)
    return next((SPLIT_FOLDERS[word.casefold()] for word in words if word.casefold() in SPLIT_FOLDERS), None)
