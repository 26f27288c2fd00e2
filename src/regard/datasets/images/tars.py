"""Images in a tar archive, read where they stand: nothing is unpacked."""

import lzma
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import IO, Any, cast

from regard.datasets.images.picture import CUT_OFF, LARGE, MOST_BYTES, UnreadError
from regard.datasets.images.sources import LINK, NO_FILE, Content, Entry, Source, check_unpacked
from regard.datasets.lines import MAGIC
from regard.disk.door import ENDLESS, opened
from regard.errors import InputError

MOST_HEAD = 1 << 20  # bytes of a name, or of what stands before one
DAMAGE = (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, RecursionError, ValueError)


class Tar(Source):
    """A tar archive, plain or packed as .gz or .xz."""

    def entries(self) -> Iterator[Entry]:
        with self._open() as file, tarfile.open(fileobj=cast(IO[bytes], _Heads(file)), mode="r:") as archive:
            number = 0
            while (member := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined]  # else all are held
                number += 1
                self.counted(number, member.name)
                check_unpacked(self.path, member.offset_data + member.size)
                if member.isdir():
                    self.saw_folder(member.name)
                    continue
                linked = member.issym() or member.islnk()
                plain = member.isreg() and not member.issparse()
                bad = LINK if linked else "" if plain else NO_FILE
                yield from self.listed(member.name, member.offset_data, member.size, bad)
            file.seek(archive.offset)
            last = file.read(tarfile.BLOCKSIZE)
            if any(last) or not last:  # an archive ends with zeros where a name would stand
                raise tarfile.ReadError("it is damaged" if last else "it has no end, so a part of it is missing")

    def contents(self, wanted: Iterable[Entry]) -> Iterator[Content]:
        with self._open() as file:
            for entry in wanted:
                if entry.size > MOST_BYTES:
                    yield entry, UnreadError(entry.name, LARGE)
                    continue
                file.seek(entry.at)
                content = file.read(entry.size)
                yield entry, content if len(content) == entry.size else UnreadError(entry.name, CUT_OFF)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        with opened(self.path, ENDLESS, links=True) as plain:
            try:
                start = plain.peek(len(max(MAGIC, key=len)))
                unpack = next((unpack for magic, unpack in MAGIC.items() if start.startswith(magic)), None)
                yield BufferedReader(unpack(plain)) if unpack else plain
            except InputError:
                raise
            except DAMAGE as error:
                raise InputError(f"{self.path}: cannot be read as an archive: {error}") from error


class _Heads:
    """A file of which only heads are read: what says it is one and has no end would be held whole."""

    def __init__(self, file: Any) -> None:
        self._file, self.seek, self.tell = file, file.seek, file.tell

    def read(self, size: int) -> bytes:
        if size > MOST_HEAD:
            raise tarfile.ReadError("a name in it is longer than a name can be")
        content: bytes = self._file.read(size)
        return content
