"""Making a run folder: new or empty before, whole afterwards, and gone again if that fails."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from regard.disk import names_inside, read_json, room, write
from regard.errors import InputError
from regard.recipe.read import RUN_RECIPE, is_run
from regard.run.lock import CHECKPOINTS, LOCK, held, own_folder

FACTS = "run.json"


def check_new(folder: Path) -> None:
    """Refuse a place where no new run can be made: asked before any work is done for it."""
    if is_run(folder):
        raise InputError(
            f"{folder}: there is a run already; ",
            call="go on with resume=True, or choose another out=",
            flag="go on with --resume, or choose another --out",
        )
    other = {"call": "choose another out=", "flag": "choose another --out"}
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: a file, and a run is a folder; ", **other)
    for path in (folder, *folder.absolute().parents):
        if path.is_symlink() and not path.exists():
            raise InputError(f"{folder}: {path} is a link to {path.readlink()}, which is not there; ", **other)
    above = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not above.is_dir():
        raise InputError(f"{folder}: {above} is a file, so nothing can be made below it; ", **other)
    if not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: {above} may not be written to; ", **other)
    if folder.is_dir() and not _unfinished(folder):
        raise InputError(f"{folder}: not empty, and a new run needs a folder of its own; ", **other)


def free_folder(folder: Path) -> Path:
    """runs/name, or the first of runs/name-2, runs/name-3, … that is not there."""
    tries = (folder if n == 1 else folder.with_name(f"{folder.name}-{n}") for n in count(1))
    return next(path for path in tries if not path.exists())


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """A place for a new run in which nobody else makes one, or trains, meanwhile. With nothing made, it is gone."""
    check_new(folder)
    new = [path for path in (folder, *folder.absolute().parents) if not path.exists()]
    with room(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with held(folder):
        try:
            check_new(folder)  # somebody may have been faster
            yield
        finally:
            if folder.is_dir() and {path.name for path in folder.iterdir()} == {LOCK}:
                (folder / LOCK).unlink()
            for path in new:
                if path.is_dir() and not any(path.iterdir()):
                    path.rmdir()


def write_new(folder: Path, contents: Mapping[str, bytes]) -> None:
    """All files, in their order; the last one makes it a run. What fails leaves nothing behind."""
    check_new(folder)
    new = [path for path in (folder, *folder.absolute().parents) if not path.exists()]
    try:
        with room(folder):
            (folder / CHECKPOINTS).mkdir(parents=True, exist_ok=True)
            for name, content in contents.items():
                write(folder / name, content)
    except BaseException:
        discard(folder, contents)
        for path in new:
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        raise


def discard(folder: Path, names: Mapping[str, bytes] | list[str]) -> None:
    """Take back a run that never came to anything; what is not of its making stays."""
    for name in [RUN_RECIPE, *names, *(f"{name}.part" for name in names), LOCK, "log.jsonl"]:
        (folder / name).unlink(missing_ok=True)
    if (folder / CHECKPOINTS).is_dir():
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)


def _unfinished(folder: Path) -> bool:
    """Whether there is nothing, or no more than what a process left that was killed while it made a run."""
    own_folder(folder)
    there = {path.name.removesuffix(".part") for path in folder.iterdir()} - {LOCK}
    if not there or there == {CHECKPOINTS}:
        return not there or not any((folder / CHECKPOINTS).iterdir())
    try:
        files = names_inside(read_json(folder / FACTS).get("files"), folder / FACTS)
    except (OSError, InputError):
        return there <= {CHECKPOINTS, FACTS}
    begun = there <= {CHECKPOINTS, FACTS, RUN_RECIPE, *files}
    return begun and (CHECKPOINTS not in there or not any((folder / CHECKPOINTS).iterdir()))
