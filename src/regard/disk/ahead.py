"""Files that are read ahead: in a thread, while Python still imports what is going to use them."""

import hashlib
import os
import sys
from concurrent.futures import Future
from io import BufferedReader
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from regard.disk.door import ENDLESS, opened
from regard.disk.header import read_head

USUAL, TURN = sys.getswitchinterval(), 2e-4  # seconds until an import lets this thread go on with the next tensor
BLOCK = 1 << 24  # bytes at a time of what is no tensor


class Read(NamedTuple):
    """The sha256 of a file, and the numbers of its tensors by name, in memory of their own; none of another kind of
    file."""

    checksum: str
    tensors: dict[str, mmap]


_begun: dict[tuple[int, ...], Future[Read]] = {}


def begin(path: Path, deep: int) -> None:
    """Begin to read a file inside a run; whoever asks for it next is given what was found."""
    made: Future[Read] = Future()
    with opened(path, ENDLESS, deep=deep) as file:
        own, known = os.fdopen(os.dup(file.fileno()), "rb"), _known_by(file)
    try:
        Thread(target=_find, args=(own, made), daemon=True).start()
    except RuntimeError:  # there is no room for one, and nobody may wait for it
        own.close()
        return
    _begun[known] = made


def checked(file: BufferedReader) -> str | None:
    """The sha256 of this very file, if it was begun and nobody has written to it since."""
    found = _begun.get(_known_by(file)) if _begun else None
    return None if found is None else found.result().checksum


def taken(file: BufferedReader) -> dict[str, mmap]:
    """The tensors that were read of this very file, given once; none where it was not begun."""
    found = _begun.pop(_known_by(file), None) if _begun else None
    return {} if found is None else found.result().tensors


def _find(file: BufferedReader, made: Future[Read]) -> None:
    sys.setswitchinterval(TURN)
    with file:
        try:
            made.set_result(_read(file))
        except Exception as error:  # whatever it was: who waits for it has to hear
            made.set_exception(error)
        finally:
            sys.setswitchinterval(USUAL)


def _read(file: BufferedReader) -> Read:
    """All of it, once: what is counted up is what is used."""
    try:
        places = sorted(read_head(file).items(), key=lambda pair: (pair[1].begin, pair[1].end))
    except ValueError:
        places = []
    found, tensors = hashlib.sha256(), dict[str, mmap]()
    file.seek(0)
    if places:
        found.update(file.read(places[0][1].begin))
    for name, one in places:
        if one.begin < one.end:
            held = tensors[name] = mmap(-1, one.end - one.begin, flags=MAP_PRIVATE | MAP_ANONYMOUS)
            file.readinto(held)
            found.update(held)
    while rest := file.read(BLOCK):
        found.update(rest)
    return Read(found.hexdigest(), tensors)


def _known_by(file: BufferedReader) -> tuple[int, ...]:
    facts = os.fstat(file.fileno())
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
