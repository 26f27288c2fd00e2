"""What can be made again: kept below one folder, within a bound, and cleaned on request."""

import fcntl
import os
import shutil
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from regard.disk.write import room

DAY = 24 * 3600.0
BOUND = 8 * 2**30
PREFIX = ".regard-"
ROOMS = ("encoded", "pixels", "downloads", "machine", "compiled")


def cache(kind: str) -> Path:
    """A room of the cache: below REGARD_CACHE, or `.cache/regard` in the home folder."""
    assert kind in ROOMS
    home = Path(os.environ.get("REGARD_CACHE") or Path.home() / ".cache" / "regard")
    return home / kind


@contextmanager
def workshop(folder: Path) -> Iterator[Path]:
    """A passing folder beside where its files will stay; those that a killed process left are swept after a day."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{PREFIX}*"):
        with suppress(OSError):  # another process may sweep too
            if left.stat().st_mtime < time.time() - DAY and not _in_use(left):
                shutil.rmtree(left, ignore_errors=True)
    with TemporaryDirectory(prefix=PREFIX, dir=folder, ignore_cleanup_errors=True) as name, held(Path(name)):
        yield Path(name)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Whoever else asks for it waits; others see that somebody works in it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some disks know no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def claim(folder: Path) -> int | None:
    """A handle that says somebody works in a folder, until it is closed here and wherever it was handed on.

    None where somebody does already.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:  # some disks know no locks
        pass
    return handle


def _in_use(path: Path) -> bool:
    if not path.name.startswith(PREFIX) or not path.is_dir():
        return False
    try:
        handle = claim(path)
    except OSError:  # another process may remove it too
        return False
    if handle is not None:
        os.close(handle)
    return handle is None


def bound(folder: Path, keep: Collection[str] = (), most: int = BOUND) -> None:
    """Let go of what was used longest ago until the folder holds no more than `most` bytes; those to keep stay."""
    there = [path for path in folder.iterdir() if not path.name.startswith(PREFIX)]
    held = sorted((_age(path), path, _size(path)) for path in there)
    total = sum(size for _, _, size in held)
    for _, path, size in held[:-1]:  # the newest stays, however large
        if total <= most:
            return
        if path.name not in keep:
            with suppress(OSError):  # what may not be removed stays
                _remove(path)
                total -= size


def used(path: Path) -> None:
    """Mark as used now."""
    with suppress(OSError):
        os.utime(path)


def discard(path: Path) -> None:
    """Let go of one thing, as far as that is allowed."""
    with suppress(OSError):
        _remove(path)


def clean() -> tuple[int, int]:
    """Remove everything that was kept, but not what is being made just now; how many things and bytes that was."""
    gone = []
    for folder in filter(Path.is_dir, map(cache, ROOMS)):
        if folder.is_symlink():  # what is behind it is not ours
            continue
        with room(folder):
            for path in list(folder.iterdir()):
                if not _in_use(path):
                    gone.append(_size(path))
                    _remove(path)
    return len(gone), sum(gone)


def _remove(path: Path) -> None:
    """Renamed first: what another process looks for is whole or not there."""
    gone = path.with_name(f"{PREFIX}{uuid4().hex}")
    with suppress(FileNotFoundError):  # another process may remove it too
        path.rename(gone)
        if gone.is_dir() and not gone.is_symlink():
            shutil.rmtree(gone, ignore_errors=True)
        else:
            gone.unlink()


def _age(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _size(path: Path) -> int:
    total = 0
    with suppress(OSError):  # another process may remove it meanwhile
        for file in [path] if path.is_file() or path.is_symlink() else path.rglob("*"):
            total += file.stat().st_size if file.is_file() and not file.is_symlink() else 0
    return total
