"""One saved state of a run, and how it shows that it is what was written."""

import hashlib
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.disk import checksum, read_json, remove, sync, write
from regard.disk.ahead import begin
from regard.disk.door import ENDLESS, opened
from regard.disk.header import read_head
from regard.errors import InputError

if TYPE_CHECKING:  # what lists runs needs no tensors, and importing torch takes seconds
    from regard.disk.tensors import Tensors

WEIGHTS, STATE, MANIFEST = "weights.safetensors", "state.safetensors", "manifest.json"
STEP = re.compile(r"step-([0-9]{1,12})")
DEEP = 2  # folders between a run and its tensors, none of which may be a link


@dataclass(frozen=True)
class Checkpoint:
    """One saved state: the weights a user gets, and the state that training needs to go on."""

    folder: Path

    @classmethod
    def write(cls, folder: Path, weights: "Tensors", state: "Tensors | None", progress: dict[str, Any]) -> "Checkpoint":
        """Whole or not at all. Without a state it can be used, not gone on with."""
        from regard.disk.tensors import write_tensors

        part = folder.with_name(folder.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        hashes = {"progress": table_hash(progress)}
        try:
            for name, tensors in ((WEIGHTS, weights), *(((STATE, state),) if state is not None else ())):
                hashes[name] = write_tensors(part / name, tensors)
            write(part / MANIFEST, manifest_of(hashes, progress))
            sync(part)
        except Exception:
            shutil.rmtree(part, ignore_errors=True)  # a full disk has no room for halves
            raise
        if folder.exists():
            remove(folder)
        part.rename(folder)
        sync(folder.parent)
        return cls(folder)

    @property
    def step(self) -> int:
        """After how many steps it was saved."""
        found = STEP.fullmatch(self.folder.name)
        assert found is not None
        return int(found[1])

    def check(self, to_resume: bool = False) -> dict[str, Any]:
        """The manifest, once what is needed has been found to be what was written: the weights, and the state too
        where training is to go on."""
        manifest = self.manifest()
        hashes = manifest["sha256"]
        for name in (WEIGHTS, STATE) if to_resume else (WEIGHTS,):
            path = self.folder / name
            if not path.exists():
                raise InputError(f"{path}: missing")
            if not _accounted_for(path) or checksum(path, deep=DEEP) != hashes.get(name):
                raise InputError(f"{path}: damaged: not what was written")
        return manifest

    def check_lengths(self) -> None:
        """Refuse files that are missing, or not as long as their heads say, without reading them whole."""
        self.manifest()
        for name in (WEIGHTS, STATE):
            path = self.folder / name
            if path.exists():
                if not _accounted_for(path):
                    raise InputError(f"{path}: damaged: not what was written")
            elif name == WEIGHTS:
                raise InputError(f"{path}: missing")

    def check_all(self) -> None:
        """Refuse files that are not what was written; this reads them."""
        self.check(to_resume=(self.folder / STATE).exists())

    def check_ahead(self) -> None:
        """Begin with what a check takes longest for, in a thread, while something else is done."""
        if _accounted_for(self.folder / WEIGHTS):
            begin(self.folder / WEIGHTS, DEEP)

    def manifest(self) -> dict[str, Any]:
        """What is said of the tensors, itself found to be what was written."""
        manifest = read_json(self.folder / MANIFEST, deep=DEEP)
        hashes = manifest.get("sha256")
        if not isinstance(hashes, dict) or hashes.get("progress") != table_hash(manifest.get("progress")):
            raise InputError(f"{self.folder / MANIFEST}: damaged: not what was written")
        return manifest

    def progress(self) -> dict[str, Any]:
        """What the training knew beside its tensors: scores, what came when."""
        progress = self.check().get("progress")
        if not isinstance(progress, dict):
            raise InputError(f"{self.folder / MANIFEST}: damaged: no progress in it")
        return progress

    def weights(self) -> "Tensors":
        """What a user gets."""
        return _tensors(self.folder / WEIGHTS)

    def state(self) -> "Tensors":
        """All else that the next step depends on."""
        return _tensors(self.folder / STATE)

    def shapes(self) -> dict[str, list[int]]:
        """Names and shapes of the weights, without reading them."""
        from regard.disk.tensors import read_shapes

        return read_shapes(self.folder / WEIGHTS, DEEP)


def _accounted_for(path: Path) -> bool:
    """Whether a file is as long as its head says: one that is not may be endless, and is not read to its end."""
    with opened(path, ENDLESS, deep=DEEP) as file:
        try:
            read_head(file)
        except (ValueError, OSError):
            return False
    return True


def _tensors(path: Path) -> "Tensors":
    from regard.disk.tensors import read_tensors

    return read_tensors(path, DEEP)


def manifest_of(hashes: dict[str, str], progress: dict[str, Any]) -> bytes:
    """What a manifest holds."""
    return json.dumps({"sha256": hashes, "progress": progress}, indent=2).encode()


def table_hash(table: Any) -> str:
    """The sha256 of a table as JSON."""
    return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()
