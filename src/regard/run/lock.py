"""Who trains in a run folder: one process at a time."""

import fcntl
import json
import os
import shutil
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.disk import parse_json, read_bytes, room
from regard.errors import InputError

LOCK = "lock"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Nobody else may train here meanwhile. Sweeps what a killed process left behind."""
    with room(folder):
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    with os.fdopen(handle, "w") as lock:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InputError(f"{folder / LOCK}: not a plain file; remove it")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(f"{folder}: {_said(folder)} is training in it; wait for it, or stop it") from error
        if not _is_that(folder / LOCK, lock.fileno()):
            raise InputError(f"{folder}: another process has just taken it away; begin again")
        lock.truncate(0)
        json.dump({"process": os.getpid(), "machine": socket.gethostname(), "since": time.time()}, lock)
        lock.flush()
        for left in [*folder.glob("*.part"), *(folder / "checkpoints").glob("*.part")]:
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        yield


def _is_that(path: Path, handle: int) -> bool:
    """Whether a name still leads to an open file: who removes a run removes its lock too."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(handle))
    except OSError:
        return False


def holder(folder: Path) -> dict[str, Any] | None:
    """What is known of the process that trains here now; None if there is none."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe would be waited for
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _known(folder)
    finally:
        os.close(handle)
    return None


def _known(folder: Path) -> dict[str, Any]:
    try:
        return parse_json(read_bytes(folder / LOCK), LOCK)
    except InputError:  # it has not written it yet
        return {}


def _said(folder: Path) -> str:
    known = _known(folder)
    process, machine, since = known.get("process"), known.get("machine"), known.get("since")
    if not isinstance(process, int) or not isinstance(machine, str) or not isinstance(since, int | float):
        return "another process"
    where = "" if machine == socket.gethostname() else f" on {machine[:64]!r}"
    try:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(since))
    except (OverflowError, ValueError, OSError):  # no time of any clock
        return "another process"
    return f"another process ({process}{where}, since {when})"
