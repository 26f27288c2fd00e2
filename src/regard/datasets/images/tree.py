"""Images below a folder."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

from regard.datasets.images.picture import MOST_BYTES, UnreadError
from regard.datasets.images.sources import NO_FILE, NOT_READ, Content, Entry, Source, is_text, stamp
from regard.disk import read_bytes
from regard.errors import InputError

NOWHERE, CIRCLE = "behind a link that leads nowhere", "behind a link to a folder that is read already"


class Tree(Source):
    """A folder of folders. Links are followed, but no folder is read twice, so that a circle of links has an end."""

    def entries(self) -> Iterator[Entry]:
        number, seen, waiting, linked = 0, set[tuple[int, int]](), [""], list[str]()
        while waiting or linked:
            folder = waiting.pop() if waiting else linked.pop(0)  # a folder goes by its own name first
            try:
                inside = self._inside(folder, seen)
            except OSError as error:
                if not folder:
                    raise InputError(f"{self.path}: cannot be looked into: {error.strerror or error}") from error
                yield Entry(folder, bad=NOT_READ)
                continue
            if inside is None:
                yield Entry(folder, bad=CIRCLE)
                continue
            deeper = list[str]()
            for each in inside:
                number += 1
                name = f"{folder}/{each.name}" if folder else each.name
                self.counted(number, name)
                if _is(each.is_dir):
                    if is_text(name) and not each.name.startswith("."):
                        (linked if each.is_symlink() else deeper).append(name)
                elif _is(each.is_file):
                    yield from self.listed(name)
                else:
                    yield from self.listed(name, bad=NOWHERE if each.is_symlink() else NO_FILE)
            waiting += reversed(deeper)

    def _inside(self, folder: str, seen: set[tuple[int, int]]) -> "list[os.DirEntry[str]] | None":
        """Sorted; None for a folder that was read before."""
        path = self.path / folder
        facts = path.stat()
        if (facts.st_dev, facts.st_ino) in seen:
            return None
        seen.add((facts.st_dev, facts.st_ino))
        with os.scandir(path) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
        if folder:
            self.saw_folder(folder)
        return inside

    def contents(self, wanted: Iterable[Entry]) -> Iterator[Content]:
        for entry in wanted:
            try:
                yield entry, read_bytes(self.path / entry.name, links=True, most=MOST_BYTES)
            except InputError as error:
                yield entry, UnreadError(entry.name, NOT_READ, str(error).rpartition(": ")[2])

    def state(self) -> Any:
        return [[entry.name, *stamp(self.path / entry.name)] for entry in Tree(self.path).entries()]


def _is(asked: Any) -> bool:
    try:
        return bool(asked())
    except OSError:  # a link in a circle
        return False
