"""Importing torch takes a second or two, and so does reading large weights and whether they are what was written:
both at once."""

from contextlib import suppress
from pathlib import Path

from regard.errors import InputError


def check_ahead(*folders: Path) -> None:
    """Begin to read the weights of runs. What is wrong with one is said by whoever opens it."""
    from regard.run import Run

    for folder in folders:
        with suppress(InputError, OSError):
            best = Run.open(folder).best()
            if best is not None:
                best.check_ahead()
