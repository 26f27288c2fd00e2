"""Writing: under another name, synced and renamed, so that a file is whole or not there."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from regard.errors import FailedError, InputError

NEW, PART = os.O_WRONLY | os.O_CREAT | os.O_EXCL, ".part"
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


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
        return "the disk is full; what was saved before is whole. Make room, then try again, a training with --resume"
    return str(getattr(error, "strerror", None) or error)


def write(path: Path, content: bytes) -> None:
    """The whole file or the old one, whenever the power goes. A link that is there is replaced, never followed."""
    part = path.with_name(path.name + PART)
    try:
        part.unlink(missing_ok=True)
        new = os.open(part, NEW, 0o666)
        with os.fdopen(new, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()  # half of it is of no use, and fills a full disk further
        error.filename = str(path)  # the name that people know
        raise
    sync(path.parent)


def check_place(path: Path) -> None:
    """Refuse a file that could not be written, before any work is done. It is tried out, since permissions do not tell
    of disks that take nothing, such as /proc, and of names that are too long: in the nearest folder that is there."""
    try:
        above = next(folder for folder in path.absolute().parents if folder.exists())
        trial = above / (path.name + PART)
        os.close(os.open(trial, NEW, 0o666))
        trial.unlink()
    except FileExistsError:  # left by a writing that was killed; the next one takes its place
        return
    except OSError as error:
        raise InputError(f"{path}: nothing can be written there ({error.strerror or error})") from error


def sync(path: Path) -> None:
    """Wait until a file or the names in a folder are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(folder: Path) -> None:
    """Renamed first: no folder is ever seen half removed. Of a link only the link is removed."""
    part = folder.with_name(folder.name + ".old.part")
    _gone(part)
    folder.rename(part)
    _gone(part)


def _gone(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        _emptied(path)
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def _emptied(folder: Path) -> None:
    """Remove all in a folder, however deep: again and again what is two deep is brought up, so that no path is too
    long. Folders are held open while they are emptied, so that no link can take the place of one."""
    top = os.open(folder, FOLDER)
    try:
        while folders := _kept_folders(top):
            for name in folders:
                inner = os.open(name, FOLDER, dir_fd=top)
                try:
                    for deeper in _kept_folders(inner):
                        os.rename(deeper, uuid4().hex, src_dir_fd=inner, dst_dir_fd=top)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)


def _kept_folders(handle: int) -> list[str]:
    """The folders in an open folder; all else is removed."""
    with os.scandir(handle) as entries:
        inside = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in inside:
        if not is_folder:
            os.unlink(name, dir_fd=handle)
    return [name for name, is_folder in inside if is_folder]
