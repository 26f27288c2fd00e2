"""All images that some names lead to: found, told apart by what is in them, and read again when they are asked for."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import groupby
from typing import Any

from regard.datasets.images.layout import lay_out
from regard.datasets.images.picture import EMPTY, UnreadError
from regard.datasets.images.sources import Entry, Source, shown
from regard.errors import InputError
from regard.listener import Listener

FINDING, READING = "looking for images", "reading the images"
EVERY, SHOWN = 256, 2  # images between two words to the listener, and names of files that are none


class Album:
    """The images of one or more sources, numbered through from 1."""

    def __init__(self, sources: Sequence[Source], listener: Listener) -> None:
        self.sources = sources
        self.state = [source.state() for source in sources]  # before anything is read
        self.entries: list[Entry] = []
        self.empty: dict[str, list[str]] = {}
        """Classes without images, by the split whose folder they stand in."""
        self.before: list[int] = []
        """Of each source, how many images the ones before have."""
        for source in sources:
            self.before.append(len(self.entries))
            found = list(self._found(source, listener))
            if not source.is_table:
                for split, labels in lay_out(found, source.folders).items():
                    self.empty.setdefault(split, []).extend(labels)
            self.entries += found
        self._read(listener)

    def _found(self, source: Source, listener: Listener) -> Iterator[Entry]:
        twice: dict[str, Entry] = {}
        for number, entry in enumerate(source.entries(), len(self.entries) + 1):
            if number % EVERY == 0:
                listener.at(FINDING, number)
            if not source.is_table and (earlier := twice.get(entry.name)):
                earlier.bad = earlier.bad or "replaced by one of the same name further on"
            twice[entry.name] = entry
            entry.number = number
            yield entry

    def _read(self, listener: Listener) -> None:
        """Once all that is in them, so that equal ones are known."""
        good = [entry for entry in self.entries if not entry.bad]
        listener.at(READING, 0, len(good))
        for done, (entry, content) in enumerate(self.contents(good), 1):
            if isinstance(content, UnreadError) or not content:
                entry.bad = content.why if isinstance(content, UnreadError) else EMPTY
            else:
                entry.digest = blake2b(content, digest_size=16).digest()
            if done % EVERY == 0 or done == len(good):
                listener.at(READING, done, len(good))

    def contents(self, wanted: Sequence[Entry]) -> Iterator[tuple[Entry, bytes | UnreadError]]:
        """What is in some entries, given in their order."""
        for source, some in groupby(wanted, key=self.source):
            yield from source.contents(some)

    def source(self, entry: Entry) -> Source:
        """Where an entry stands."""
        return self.sources[bisect_left(self.before, entry.number) - 1]

    def called(self, entry: Entry) -> str:
        """What people know an entry by: its name, behind that of its source if there are several."""
        return shown(f"{self.source(entry).path.name}/{entry.name}" if len(self.sources) > 1 else entry.name)

    @cached_property
    def identity(self) -> list[Any]:
        """What is in it, in a word, and how it is called."""
        made = blake2b(digest_size=16)
        for entry in self.entries:
            made.update(f"{entry.name}\0{entry.label}\0{entry.split}\0{entry.bad}\0".encode("utf-8", "replace"))
            made.update(entry.digest)
        return [made.hexdigest(), len(self.entries)]

    def unchanged(self) -> bool:
        """Whether the files are as they were when they were found."""
        try:
            return [source.state() for source in self.sources] == self.state
        except InputError:  # not there any more
            return False

    def notes(self) -> list[str]:
        """What else was found."""
        first = [name for source in self.sources for name in source.others][:SHOWN]
        total = sum(source.passed_over for source in self.sources)
        more = ", …" if total > len(first) else ""
        said = f"passed over that {'is no image by its name' if total == 1 else 'are no images by their names'}"
        return [f"{total:,} {'file' if total == 1 else 'files'} {said} ({', '.join(first)}{more})"] if total else []
