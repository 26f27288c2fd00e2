"""Where images stand, one by one: below a folder, in an archive, in a table."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.datasets.images.picture import UnreadError, endings
from regard.datasets.lines import one_line
from regard.errors import InputError

MOST_NAMES, MOST_LETTERS, LONGEST = 1_500_000, 2**28, 1024  # an archive can name billions, and each without end
MOST_UNPACKED = 64 << 30  # bytes of all that is in an archive
FIRST = 3  # names of files passed over that are shown
NOT_UTF8, OUTSIDE = "with a name that is not UTF-8", "with a name that leads out of its archive"
LINK, NO_FILE = "a link in an archive, which is not followed", "in no plain file"
NOT_READ, TOO_LONG = "not to be read", f"with a name of over {LONGEST:,} letters"


@dataclass(slots=True)
class Entry:
    """One image by its name. What it shows, and what is in it, is filled in as it becomes known."""

    name: str
    at: int = 0
    """Where it stands in an archive or a table."""
    size: int = 0
    label: str = ""
    split: str = ""
    """The split that its folder names, if there are such."""
    bad: str = ""
    """Why it cannot be read."""
    digest: bytes = b""
    number: int = 0


Content = tuple[Entry, bytes | UnreadError]


class Source(ABC):
    """One folder, archive or table."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folders: set[str] = set()
        """All folders that were seen by `entries`, also those without images."""
        self.others: list[str] = []
        """Names of the first files that are no images by their endings."""
        self.passed_over = 0
        """How many such files there are."""
        self._letters = 0

    @abstractmethod
    def entries(self) -> Iterator[Entry]:
        """All images by name, none of which is read; those that cannot be say why."""

    @abstractmethod
    def contents(self, wanted: Iterable[Entry]) -> Iterator[Content]:
        """What is in some of the images, in the order of `entries`, or why that cannot be read."""

    @property
    def root(self) -> Path:
        """The folder or archive below which its images have their names."""
        return self.path

    def origin(self, entry: Entry) -> str:
        """The resolved path of an image; one in an archive stands below the archive."""
        return os.path.realpath(self.root / entry.name)

    def state(self) -> Any:
        """Something that changes when the files do, and is quick to have."""
        return stamp(self.path)

    @property
    def is_table(self) -> bool:
        """Whether it says itself what each image shows; else the names of folders do."""
        return False

    def counted(self, number: int, name: str = "") -> None:
        """Refuse to look at names without end."""
        self._letters += min(len(name), LONGEST)
        if number > MOST_NAMES or self._letters > MOST_LETTERS:
            raise InputError(f"{self.path}: more than {MOST_NAMES:,} names in it, or too long ones; name a part of it")

    def saw_folder(self, name: str) -> None:
        """One more folder, with or without images."""
        if len(name) <= LONGEST:
            self.folders.add(name.removeprefix("./").rstrip("/"))

    def listed(self, name: str, at: int = 0, size: int = 0, bad: str = "") -> Iterator[Entry]:
        """An entry by its name inside the source, unless it is hidden, or is no image by its name."""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if not parts or any(_is_hidden(part) for part in parts):
            return
        plain = "/".join(parts)
        if os.path.splitext(plain)[1].lower() not in endings():
            self.passed_over += 1
            self.others += [shown(plain[:LONGEST])] if len(self.others) < FIRST else []
            return
        if ".." in parts or name.startswith("/") or "\0" in name:
            bad = OUTSIDE
        if len(plain) > LONGEST:
            plain, bad = f"{plain[:LONGEST]}…", TOO_LONG
        yield Entry(plain, at, size, bad=bad if is_text(plain) else NOT_UTF8)


def _is_hidden(part: str) -> bool:
    return (part.startswith(".") and part != "..") or part == "__MACOSX"


def check_unpacked(path: Path, size: int) -> None:
    """Refuse to unpack without end."""
    if size > MOST_UNPACKED:
        raise InputError(f"{path}: more than {MOST_UNPACKED >> 30} GiB in it; unpack a part of it")


def stamp(path: Path) -> list[int]:
    """Size and time of a file."""
    try:
        facts = path.stat()
    except OSError:
        return []
    return [facts.st_size, facts.st_mtime_ns]


def is_text(name: str) -> bool:
    """Whether a name can be written down."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def shown(name: str) -> str:
    """A name that gives no orders to a terminal, and can be written down."""
    return one_line(name if is_text(name) else name.encode("utf-8", "replace").decode())
