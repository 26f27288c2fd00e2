"""Lines of text files: plain or packed, streamed, with any byte order mark and any line end."""

import gzip
import lzma
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from regard.disk.door import ENDLESS, opened
from regard.errors import InputError
from regard.listener import Listener

BREAKS = dict.fromkeys([*range(32), *range(127, 160), 0x2028, 0x2029], " ")
MAGIC: dict[bytes, Callable[[Any], Any]] = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\x00": lzma.open}
PACKED: dict[str, Callable[[Any], Any]] = {".gz": gzip.open, ".xz": lzma.open}
EVERY = 1000  # lines between two looks at how far a file is read
LONGEST = 1 << 20  # bytes of a line; of a longer one no more is ever held
OVERLONG = b"\xff over-long"
"""What stands for a line that was too long to be read. It is no UTF-8: who forgets it takes it for no text."""


class Meter:
    """How far some files are read, told in lines; how many there will be is reckoned from the bytes."""

    def __init__(self, listener: Listener, work: str, files: Iterable[Path]) -> None:
        self._listener, self._work = listener, work
        self._bytes = sum(path.stat().st_size for path in files if path.is_file())
        self._places: dict[Path, int] = {}
        self._lines = 0
        listener.at(work)

    def at(self, path: Path, place: int) -> None:
        """A file has been read up to a byte."""
        self._places[path] = place

    def line(self) -> None:
        """One line more, or a pair of them."""
        self._lines += 1
        done = sum(self._places.values()) if self._lines % EVERY == 0 else 0
        if done:
            self._listener.at(self._work, self._lines, max(self._lines, round(self._lines * self._bytes / done)))


def raw_lines(path: Path, meter: Meter | None = None) -> Iterator[bytes]:
    """Lines without their ends, streamed; a byte order mark is no text."""
    with refusals(path), opened(path, ENDLESS, links=True) as plain, unpacked(plain, path) as file:
        for number, line in enumerate(bare_lines(file)):
            if meter is not None and number % EVERY == 0:
                meter.at(path, plain.tell())
            yield line


def pipe_lines(pipe: Any) -> Iterator[bytes]:
    """The same of a pipe, as its lines come; whether they are packed is seen at the first bytes."""
    with refusals(Path("the pipe")):
        buffered = pipe if isinstance(pipe, BufferedReader) else BufferedReader(pipe)
        start = buffered.peek(len(max(MAGIC, key=len)))
        opener = next((opener for magic, opener in MAGIC.items() if start.startswith(magic)), None)
        yield from bare_lines(opener(buffered) if opener else buffered)


def head(path: Path, most: int) -> bytes:
    """The first bytes of a file, unpacked."""
    with refusals(path), opened(path, ENDLESS, links=True) as plain, unpacked(plain, path) as file:
        return file.read(most)


def bare_lines(file: Any) -> Iterator[bytes]:
    """The same of an open file or a pipe, as its lines come; OVERLONG for those that are longer than a text can be."""
    more = partial(file.readline, LONGEST + 1)
    begins = True
    for line in iter(more, b""):
        if begins:
            begins, line = False, line.removeprefix(BOM_UTF8)  # noqa: PLW2901
        if len(line) <= LONGEST or line.endswith(b"\n"):
            yield line.rstrip(b"\r\n")
        else:
            while (rest := more()) and not rest.endswith(b"\n"):
                pass
            yield OVERLONG


def as_text(line: bytes) -> str | None:
    """UTF-8, or None for what is no text."""
    try:
        return None if b"\0" in line else line.decode("utf-8")
    except UnicodeDecodeError:
        return None


def one_line(text: str) -> str:
    """What a model writes may hold line breaks and orders to the terminal; neither belongs on a line of its own."""
    return text.translate(BREAKS)


def packed_or_plain(name: str) -> Path | None:
    """A file of that name, or packed under it."""
    forms = (Path(name + ending) for ending in ("", *PACKED))
    return next((path for path in forms if path.is_file()), None)


def bare_name(path: Path) -> Path:
    """The name a packed file would have unpacked."""
    return path.with_suffix("") if path.suffix in PACKED else path


@contextmanager
def unpacked(plain: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    """What is in an open file, by the ending of its name."""
    if path.suffix in PACKED:
        with PACKED[path.suffix](plain) as file:
            yield BufferedReader(file)  # its lines are cut by C
    else:
        yield plain


@contextmanager
def refusals(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
