"""Who trains in a run folder: one process at a time."""

import fcntl
import json
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from regard.disk import opened, parse_json, read_bytes, room, writing
from regard.errors import InputError

LOCK = "lock"
CHECKPOINTS = "checkpoints"


def own_folder(folder: Path, name: str = CHECKPOINTS) -> Path:
    """A folder inside a run, where it has its checkpoints: no link, for that would lead out of it."""
    inner = folder / name
    if inner.is_symlink():
        raise InputError(f"{inner}: a link, and what a run writes stays in the run; remove it")
    return inner


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Nobody else may train here meanwhile. Sweeps what a killed process left behind."""
    inner = own_folder(folder)
    with ExitStack() as stack:
        with room(folder):
            lock = stack.enter_context(writing(folder / LOCK, "w"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(f"{folder}: {_said(folder)} is training in it; wait for it, or stop it") from error
        if not _is_that(folder / LOCK, lock.fileno()):
            raise InputError(f"{folder}: another process has just taken it away; begin again")
        lock.truncate(0)
        json.dump({"process": os.getpid(), "machine": socket.gethostname(), "since": time.time()}, lock)
        lock.flush()
        for left in [*folder.glob("*.part"), *inner.glob("*.part")]:
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        yield


def _is_that(path: Path, handle: int) -> bool:
    """Whether a name still leads to an open file: who removes a run removes its lock too."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(handle))
    except OSError:
        return False


def identity(folder: Path) -> tuple[int, int]:
    """What tells a folder from another one that is made later in its place."""
    stat = folder.stat()
    return stat.st_dev, stat.st_ino


def holder(folder: Path) -> dict[str, Any] | None:
    """What is known of the process that trains here now; None if there is none."""
    try:
        with opened(folder / LOCK) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except InputError:  # nobody ever trained here
        return None
    except OSError:
        return _known(folder)
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
