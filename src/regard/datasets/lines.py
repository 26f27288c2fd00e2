"""Lines of text files: plain or packed, streamed, with any byte order mark and any line end."""

import gzip
import lzma
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import Any

from regard.errors import InputError

BREAKS = dict.fromkeys([*range(32), *range(127, 160), 0x2028, 0x2029], " ")
PACKED: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".xz": lzma.open}


def raw_lines(path: Path) -> Iterator[bytes]:
    """Lines without their ends, streamed; a byte order mark is no text."""
    try:
        with _opened(path) as file:
            yield from bare_lines(file)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def bare_lines(file: Iterable[bytes]) -> Iterator[bytes]:
    """The same of an open file or a pipe, as its lines come."""
    for number, line in enumerate(file):
        yield (line if number else line.removeprefix(BOM_UTF8)).rstrip(b"\r\n")


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


def _opened(path: Path) -> BufferedIOBase:
    opened: BufferedIOBase = PACKED[path.suffix](path) if path.suffix in PACKED else path.open("rb")
    return opened
