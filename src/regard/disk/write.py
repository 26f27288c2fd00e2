"""Writing: under another name, synced and renamed, so that a file is whole or not there."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from regard.errors import FailedError


@contextmanager
def room(folder: Path) -> Iterator[None]:
    """What the disk refuses is said in one line."""
    try:
        yield
    except OSError as error:
        raise FailedError(f"{folder}: {reason(error)}") from error


def reason(error: Exception) -> str:
    """Why the disk refused, in the user's words."""
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    if full or "No space left" in str(error):  # some libraries hide the disk's own error in a text
        return "the disk is full; what was saved before is whole. Make room, then go on with --resume"
    return str(getattr(error, "strerror", None) or error)


def write(path: Path, content: bytes) -> None:
    """The whole file or the old one, whenever the power goes. A link that is there is replaced, never followed."""
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    new = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with os.fdopen(new, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file or the names in a folder are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(folder: Path) -> None:
    """Renamed first: no folder is ever seen half removed. No link is followed."""
    part = folder.with_name(folder.name + ".old.part")
    if part.is_symlink() or part.is_file():
        part.unlink()
    elif part.exists():
        _emptied(part)
    folder.rename(part)
    _emptied(part)


def _emptied(top: Path) -> None:
    """Remove a folder, however deep: again and again what is two deep is brought up, so that no path is too long."""
    while folders := _kept_folders(top):
        for folder in folders:
            for inner in _kept_folders(folder):
                inner.rename(top / uuid4().hex)
            folder.rmdir()
    top.rmdir()


def _kept_folders(folder: Path) -> list[Path]:
    """The folders in a folder; all else is removed."""
    with os.scandir(folder) as entries:
        inside = [(Path(entry.path), entry.is_dir(follow_symlinks=False)) for entry in entries]
    for path, is_folder in inside:
        if not is_folder:
            path.unlink()
    return [path for path, is_folder in inside if is_folder]
