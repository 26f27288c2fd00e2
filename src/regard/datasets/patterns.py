"""Files that a pattern matches, found without walking for ever: a run from elsewhere may name any pattern."""

import os
import re
from collections.abc import Iterator
from difflib import get_close_matches
from fnmatch import translate
from glob import has_magic
from pathlib import Path

from regard.errors import InputError

MOST, LOOKED = 10_000, 300_000  # files that may match, and names that are looked at to find them

__all__ = ["has_magic", "matching", "missing"]


def matching(pattern: str) -> list[str]:
    """All files that match, sorted, as the shell has it: `*` and `?` within a name, `**` for any folders in between.

    Names that begin with a dot must be asked for, and `**` follows no links.
    """
    path = Path(pattern)
    found = list(_Walk(pattern).files(Path(path.anchor or "."), path.parts[bool(path.anchor) :]))
    return sorted({str(one) for one in found})


def missing(name: str, what: str, cutoff: float = 0.6) -> InputError:
    """There is no such file: that it is a link to nothing, or what is called nearly so."""
    path = Path(name)
    if path.is_symlink():
        return InputError(f"{name}: a link that leads nowhere")
    there = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    close = get_close_matches(path.name, there, n=1, cutoff=cutoff)
    return InputError(f"{name}: no such {what}" + (f"; did you mean {path.parent / close[0]}?" if close else ""))


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
