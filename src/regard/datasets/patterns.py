"""Files that a pattern matches, found without walking for ever: a run from elsewhere may name any pattern."""

import os
import re
from collections.abc import Iterator
from fnmatch import translate
from glob import has_magic
from pathlib import Path

from regard.errors import InputError

MOST, LOOKED = 10_000, 300_000  # files that may match, and names that are looked at to find them

__all__ = ["has_magic", "matching"]


def matching(pattern: str) -> list[str]:
    """All files that match, sorted, as the shell has it: `*` and `?` within a name, `**` for any folders in between.

    Names that begin with a dot must be asked for, and `**` follows no links.
    """
    path = Path(pattern)
    found = list(_Walk(pattern).files(Path(path.anchor or "."), path.parts[bool(path.anchor) :]))
    return sorted({str(one) for one in found})


class _Walk:
    """One search, that gives up when too much has to be looked through."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.looked, self.found = pattern, 0, 0

    def files(self, folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
        first, rest = parts[0], parts[1:]
        if first == "**":
            yield from self.files(folder, rest or ("*",))
            for entry in self._inside(folder):
                if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                    yield from self.files(folder / entry.name, parts)
        elif not has_magic(first):
            yield from self._step(folder / first, rest)
        else:
            fits = re.compile(translate(first)).match
            for entry in self._inside(folder):
                if fits(entry.name) and (first.startswith(".") or not entry.name.startswith(".")):
                    yield from self._step(folder / entry.name, rest)

    def _step(self, path: Path, rest: tuple[str, ...]) -> Iterator[Path]:
        try:
            if rest and path.is_dir():
                yield from self.files(path, rest)
            elif not rest and path.is_file():
                self.found += 1
                if self.found > MOST:
                    raise InputError(f"{self.pattern}: more than {MOST:,} files match; name fewer")
                yield path
        except OSError:  # not to be looked at
            return

    def _inside(self, folder: Path) -> "list[os.DirEntry[str]]":
        try:
            with os.scandir(folder) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
        except OSError:  # not there, or not to be looked into
            return []
        self.looked += len(inside)
        if self.looked > LOOKED:
            raise InputError(
                f"{self.pattern}: more than {LOOKED:,} files to look through; begin it with the folder that is meant"
            )
        return inside
