"""On what terms data may be used: of files, what a file NAME.licence beside them says in its first line."""

import os
from collections.abc import Iterable
from pathlib import Path

from regard.datasets.lines import one_line
from regard.disk import read_text, write
from regard.errors import InputError

ENDING, LONGEST = ".licence", 200
MOST = 2**16


def state_licence(data: Path, licence: str) -> None:
    """Put the licence of a file or a folder beside it: it goes into every run that is trained on these data."""
    write(data.with_name(data.name + ENDING), f"{licence}\n".encode())


def licence_of(origins: Iterable[str]) -> str:
    """What is said beside files, or beside a folder or an archive that they are in; nothing where nothing is said."""
    there = set(origins)
    folders = {os.path.dirname(origin) for origin in there}
    above = {folder: _said(Path(folder), parents=True) for folder in folders}
    found = {_said(Path(origin)) or above[os.path.dirname(origin)] for origin in there}
    known = sorted(found - {""})
    return "; ".join(known + ["unknown for some of the files"] * ("" in found)) if known else ""


def _said(path: Path, parents: bool = False) -> str:
    for place in (path, *path.parents) if parents else (path,):
        beside = place.with_name(place.name + ENDING) if place.name else place
        if beside.is_file():
            try:
                first, *_ = read_text(beside, most=MOST, links=True).splitlines() or [""]
            except InputError:
                continue
            return one_line(first).strip()[:LONGEST]
    return ""
