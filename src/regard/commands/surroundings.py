"""What torch needs of the system, checked before it is imported: its libraries end a process themselves."""

import os
import resource
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from regard.errors import FailedError
from regard.figures import size

LEAST = 750_000 * 1024  # bytes of address space that torch takes without any model


class BeforeTorch(MetaPathFinder):
    """Asked by the import system wherever numpy or torch is imported first."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Never finds anything; refuses what would not work."""
        if fullname in ("numpy", "torch"):
            check_surroundings()
        return None


def ask_before_torch() -> None:
    """From now on, in this process."""
    if not any(isinstance(one, BeforeTorch) for one in sys.meta_path):
        sys.meta_path.insert(0, BeforeTorch())


def check_surroundings() -> None:
    """Refuse a working folder that was removed, and too little address space."""
    try:
        os.getcwd()
    except FileNotFoundError as error:
        raise FailedError("the working folder was removed; change to one that is there (cd)") from error
    limit = address_space()
    if limit is not None and limit < LEAST:
        raise FailedError(too_little(limit))


def address_space() -> int | None:
    """The limit in bytes, if there is one."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def too_little(limit: int) -> str:
    """What is said where a limit may be why there is too little memory."""
    return f"not enough memory: the address space is limited to {size(limit)} (ulimit -v); raise or lift that limit"
