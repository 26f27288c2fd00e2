"""Folders of numbers in the cache: named when all is in them, checked when opened, mapped into memory."""

import shutil
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from regard.disk.door import ENDLESS, opened

FACTS = "facts.json"
DAMAGE = (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading such a folder may end with that somebody spoilt."""


def is_whole(folder: Path) -> bool:
    """Whether there is one: facts are written last."""
    return (folder / FACTS).is_file()


def settle(made: Path, folder: Path) -> None:
    """Give a folder its name, in place of what somebody may have half removed."""
    try:
        made.rename(folder)
    except OSError:
        if not is_whole(folder):  # else another process was first
            shutil.rmtree(folder, ignore_errors=True)
            made.rename(folder)


def mapped(path: Path, kind: np.dtype[Any]) -> Any:
    """The numbers of a file, read when they are looked at."""
    with opened(path, ENDLESS) as file:
        return np.memmap(file, kind, "r") if file.seek(0, 2) else np.zeros(0, kind)


def summed(path: Path) -> int:
    """Enough to notice a damage: nobody is to be kept from changing the cache on purpose."""
    total = 0
    with opened(path, ENDLESS) as file:
        while block := file.read(1 << 16):
            total = crc32(block, total)
    return total
