"""The one door: every file is opened here, once, and is then known to be what it was taken for.

What is opened is looked at, never its name: between a check and a use of a name another file could take its place.
A pipe or a device is not waited for, no file is larger than its kind may be, and no link inside a run leads out of it.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO

from regard.errors import InputError

LARGEST = 2**28
ENDLESS = 2**63
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
WRITE = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@contextmanager
def opened(path: Path, most: int = LARGEST, *, links: bool = False, deep: int = 0) -> Iterator[BufferedReader]:
    """A plain file of at most so many bytes, to be read; whatever else is there is refused with a sentence.

    `links` lets the file be named through a link: what users name themselves. Of a file inside a run neither it nor
    the `deep` folders above it may be links.
    """
    try:
        handle = _handle(path, READ if links else READ | os.O_NOFOLLOW, 0 if links else deep)
    except OSError as error:
        raise _refusal(path, error) from error
    facts = os.fstat(handle)
    plain = stat.S_ISREG(facts.st_mode)
    if not plain or facts.st_size > most:
        os.close(handle)
        if not plain:
            raise InputError(f"{path}: {_kind(facts.st_mode)}, no plain file{_remedy(facts.st_mode) if links else ''}")
        raise InputError(f"{path}: larger than it should be: {facts.st_size:,} bytes, and {most:,} is the most")
    with os.fdopen(handle, "rb") as file:
        yield file


@contextmanager
def writing(path: Path, mode: str) -> Iterator[IO[str]]:
    """A plain file of a run to be written on (`a`) or written anew where it stands (`w`), made if it is not there."""
    more = os.O_APPEND if mode == "a" else 0
    handle = os.open(path, WRITE | os.O_NOFOLLOW | more, 0o666)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InputError(f"{path}: not a plain file; remove it")
    with os.fdopen(handle, mode, encoding="utf-8") as file:
        yield file


def _handle(path: Path, how: int, deep: int) -> int:
    """Opened folder by folder from the last one that may be a link."""
    if not deep:
        return os.open(path, how)
    top = path.parents[deep]
    at = os.open(top, FOLDER)
    try:
        for name in path.relative_to(top).parts[:-1]:
            above, at = at, os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=at)
            os.close(above)
        return os.open(path.name, how, dir_fd=at)
    finally:
        os.close(at)


def _refusal(path: Path, error: OSError) -> InputError:
    is_link = os.path.islink  # that of a Path raises for names that are too long
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and not is_link(path):
        linked = next((folder for folder in path.parents[:2] if is_link(folder)), None)
        return InputError(f"{linked}: a link; nothing is read through it" if linked else f"{path}: no such file")
    if error.errno == errno.ELOOP or is_link(path):
        return InputError(f"{path}: a link, no plain file")
    if error.errno == errno.ENXIO:
        return InputError(f"{path}: a socket or a device, no plain file")
    return InputError(f"{path}: cannot be read: {error.strerror or error}")


def _kind(mode: int) -> str:
    known = {stat.S_IFIFO: "a pipe", stat.S_IFDIR: "a folder", stat.S_IFSOCK: "a socket"}
    return known.get(stat.S_IFMT(mode), "a device")


def _remedy(mode: int) -> str:
    return "; write it to a file first: it is read more than once" if stat.S_ISFIFO(mode) else ""
