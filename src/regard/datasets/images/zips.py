"""Images in a zip archive, read where they stand.

The list of what is in a zip is read a line at a time here: `zipfile` would hold all of it before anybody could see
that it has no end.
"""

import stat
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from regard.datasets.images.picture import BROKEN, CUT_OFF, LARGE, MOST_BYTES, UnreadError
from regard.datasets.images.sources import LINK, NO_FILE, Content, Entry, Source, check_unpacked
from regard.disk.door import ENDLESS, opened
from regard.errors import InputError

END, END_64, LOCATOR = struct.Struct("<4s4H2LH"), struct.Struct("<4sQ2H2L4Q"), struct.Struct("<4sLQL")
LINE, LOCAL = struct.Struct("<4s6H3L5H2L"), struct.Struct("<4s5H3L2H")
LONGEST_COMMENT, MANY = 65_535, 0xFFFFFFFF
STORED, DEFLATED = 0, 8
LOCKED, METHOD = "locked by a password", "packed in a way that is not read here"


@dataclass(frozen=True)
class Line:
    """A line of the list at the end of a zip."""

    name: str
    flags: int
    method: int
    check: int
    packed: int
    size: int
    start: int
    mode: int
    next: int

    def bad(self) -> str:
        """Why it cannot be read."""
        if stat.S_ISLNK(self.mode):
            return LINK
        if self.mode and stat.S_IFMT(self.mode) and not stat.S_ISREG(self.mode):
            return NO_FILE
        return LOCKED if self.flags & 1 else "" if self.method in (STORED, DEFLATED) else METHOD


class Zip(Source):
    """A zip archive."""

    def entries(self) -> Iterator[Entry]:
        with self._open() as file:
            place, end, _, count = _directory(file)
            self.counted(count)  # so many are refused before they are read; a list may still be longer than it says
            number = packed = unpacked = 0
            while place < end:
                number += 1
                line = _line(file, place)
                self.counted(number, line.name)
                if line.size <= MOST_BYTES and line.start + line.packed <= end:  # others are not unpacked
                    packed, unpacked = packed + line.packed, unpacked + line.size
                if packed > end:
                    raise InputError(f"{self.path}: its files lie over each other")
                check_unpacked(self.path, unpacked)
                if line.name.endswith("/"):
                    self.saw_folder(line.name)
                else:
                    yield from self.listed(line.name, place, line.size, line.bad())
                place = line.next

    def contents(self, wanted: Iterable[Entry]) -> Iterator[Content]:
        with self._open() as file:
            before = _directory(file)[2]
            for entry in wanted:
                try:
                    yield entry, _unpacked(file, _line(file, entry.at), before, entry.name)
                except UnreadError as error:
                    yield entry, error
                except (struct.error, zlib.error, ValueError) as error:
                    yield entry, UnreadError(entry.name, BROKEN, str(error)[:100])

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        with opened(self.path, ENDLESS, links=True) as file:
            try:
                yield file
            except InputError:
                raise
            except (struct.error, ValueError, OSError) as error:
                raise InputError(f"{self.path}: cannot be read as a zip archive: {error}") from error


def _directory(file: BinaryIO) -> tuple[int, int, int, int]:
    """Where the list begins and ends, how many bytes stand before the archive itself, and how many lines it has."""
    total = file.seek(0, 2)
    tail = min(total, END.size + LONGEST_COMMENT)
    file.seek(total - tail)
    found = (last := file.read(tail)).rfind(b"PK\x05\x06")
    if found < 0:
        raise ValueError("it has no end, so a part of it is missing")
    end = total - tail + found
    fields = END.unpack_from(last, found)
    count, size, start = fields[4:7]
    if MANY in (size, start) or 0xFFFF in fields[1:5]:
        file.seek(max(0, end - LOCATOR.size))
        locator = file.read(LOCATOR.size)
        if locator.startswith(b"PK\x06\x07"):
            end -= LOCATOR.size + END_64.size
            file.seek(end)
            wide = END_64.unpack(file.read(END_64.size))
            count, size, start = wide[7:10]
    before = end - size - start
    if before < 0:
        raise ValueError("its list of files stands where nothing is")
    return end - size, end, before, count


def _line(file: BinaryIO, place: int) -> Line:
    file.seek(place)
    head = LINE.unpack(file.read(LINE.size))
    if head[0] != b"PK\x01\x02":
        raise ValueError("its list of files is damaged")
    flags, method, check, packed, size = head[3], head[4], *head[7:10]
    names, extras, remarks, start = head[10], head[11], head[12], head[16]
    name = file.read(names).decode("utf-8" if flags & 0x800 else "cp437", "surrogateescape").replace("\\", "/")
    packed, size, start = _wide(file.read(extras), [size, packed, start])
    mode = head[15] >> 16 if head[1] >> 8 == 3 else 0  # made by a system that has modes
    return Line(name, flags, method, check, packed, size, start, mode, place + LINE.size + names + extras + remarks)


def _wide(extra: bytes, sizes: list[int]) -> tuple[int, int, int]:
    """Sizes of more than 32 bits stand apart, in their order, and only those that need it."""
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<2H", extra)
        if kind == 1:
            more = iter(struct.unpack(f"<{size // 8}Q", extra[4 : 4 + size // 8 * 8]))
            sizes = [next(more, each) if each == MANY else each for each in sizes]
        extra = extra[4 + size :]
    size, packed, start = sizes
    return packed, size, start


def _unpacked(file: BinaryIO, line: Line, before: int, named: str) -> bytes:
    """No more is ever unpacked than the list says."""
    if max(line.size, line.packed) > MOST_BYTES:
        raise UnreadError(named, LARGE)
    file.seek(before + line.start)
    head = LOCAL.unpack(file.read(LOCAL.size))
    file.seek(head[9] + head[10], 1)
    content = file.read(line.packed)
    if len(content) < line.packed:
        raise UnreadError(named, CUT_OFF)
    if line.method == DEFLATED:
        content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(content, line.size + 1)
    if len(content) != line.size or zlib.crc32(content) != line.check:
        raise UnreadError(named, BROKEN, "it is not what its archive says")
    return content
