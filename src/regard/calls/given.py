"""What a call was given, where a name was wanted."""

from os import PathLike
from pathlib import Path

from regard.errors import InputError


def name_of(argument: str, given: object, wanted: str) -> Path:
    """The path that was given: a text, a Path, a run."""
    if isinstance(given, bytes):
        raise InputError(f"{argument}: wanted {wanted}, given bytes; decode them first: .decode('utf-8')")
    if not isinstance(given, str | PathLike):
        raise InputError(f"{argument}: wanted {wanted}, given {'None' if given is None else type(given).__name__}")
    if not str(given):
        raise InputError(f"{argument}: wanted {wanted}, given an empty text")
    return Path(given)
