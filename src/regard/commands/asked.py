"""What a user wants answered: texts on the command line, files, or a pipe. Never two of them at once."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from regard.datasets.lines import OVERLONG, pipe_lines, raw_lines
from regard.datasets.overlong import TOO_LONG, too_long
from regard.disk import place
from regard.errors import InputError

PIPE = Path("-")


class Asked(NamedTuple):
    """A text, where it stood, whether some of its bytes were no text (they stand as � in it), or why there is none."""

    text: str
    place: str
    damaged: bool = False
    refused: str = ""


def asked_lines(texts: list[str], files: list[Path], what: str = "texts", verb: str = "translate") -> Iterator[Asked]:
    """The texts in their order; what cannot be one is refused here, before anything is loaded, as far as is known.

    `-` alone is the pipe, as it is for other commands and for --file.
    """
    if texts == [str(PIPE)] and not files:
        texts, files = [], [PIPE]
    if texts and files:
        raise InputError(f"{what} and --file {files[0]}: say what to {verb} in one way, not in two")
    texts = [utf8(text, f"text {number}") for number, text in enumerate(texts, 1)]
    if texts:
        return (Asked(text, f"text {number}", refused=too_long(text)) for number, text in enumerate(texts, 1))
    if not files and sys.stdin.isatty():
        raise InputError(f"nothing to {verb}: give a text, --file, or a pipe")
    paths = [file if file == PIPE else _there(place(file)) for file in files or [PIPE]]
    return (line for path in paths for line in _read(path))


def utf8(text: str, place: str) -> str:
    """A word of the command line, which may be any bytes, if these are a text; so they are in any locale."""
    try:
        return text.encode("utf-8", "surrogateescape").decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{place} is not UTF-8: {error.object[:40]!r}; convert it first, with iconv, say") from error


def _there(path: Path) -> Path:
    if path.is_dir():
        raise InputError(f"{path}: a folder, and --file wants a text file")
    if not path.exists():
        raise InputError(f"{path}: no such file")
    return path


def _read(path: Path) -> Iterator[Asked]:
    name = "the pipe" if path == PIPE else path
    lines = pipe_lines(pipe()) if path == PIPE else _lines(path)
    for number, line in enumerate(lines, 1):
        where = f"{name}: line {number:,}"
        if line is OVERLONG:
            yield Asked("", where, refused=TOO_LONG)
            continue
        try:
            yield Asked(line.decode("utf-8"), where)
        except UnicodeDecodeError:
            yield Asked(line.decode("utf-8", "replace"), where, damaged=True)


def _lines(path: Path) -> Iterator[bytes]:
    """Of a file, or of a pipe that has a name, such as a shell's <(…): it is read once, as its lines come."""
    if not path.is_fifo():
        yield from raw_lines(path)
        return
    with path.open("rb") as named:
        yield from pipe_lines(named)


def pipe() -> Any:
    """Standard input, opened anew: Python aborts at its end if a thread still waits in the one it closes itself."""
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except OSError:  # not a file of the system
        return sys.stdin.buffer
