"""Checksums that are found ahead: in a thread, while Python still imports what is going to read the file."""

import hashlib
import os
from concurrent.futures import Future
from io import BufferedReader
from pathlib import Path
from threading import Thread

from regard.disk.door import ENDLESS, opened

_begun: dict[tuple[int, ...], Future[str]] = {}


def begin(path: Path, deep: int) -> None:
    """Begin with the sha256 of a file inside a run; whoever asks for it next is given this one."""
    made: Future[str] = Future()
    with opened(path, ENDLESS, deep=deep) as file:
        own, known = os.fdopen(os.dup(file.fileno()), "rb"), _known_by(file)
    try:
        Thread(target=_find, args=(own, made), daemon=True).start()
    except RuntimeError:  # there is no room for one, and nobody may wait for it
        own.close()
        return
    _begun[known] = made


def taken(file: BufferedReader) -> Future[str] | None:
    """What was begun for this very file, once, and only if nobody has written to it since."""
    return _begun.pop(_known_by(file), None) if _begun else None


def _find(file: BufferedReader, made: Future[str]) -> None:
    with file:
        try:
            made.set_result(hashlib.file_digest(file, "sha256").hexdigest())
        except Exception as error:  # whatever it was: who waits for it has to hear
            made.set_exception(error)


def _known_by(file: BufferedReader) -> tuple[int, ...]:
    facts = os.fstat(file.fileno())
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
