"""One saved state of a run, and how it shows that it is what was written."""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from regard.errors import InputError
from regard.runs.disk import Tensors, hashed, read_json, read_tensors

FILES = ("weights.safetensors", "state.safetensors")
STEP = re.compile(r"step-(\d{1,12})")


@dataclass(frozen=True)
class Checkpoint:
    """One saved state of a run."""

    folder: Path

    @property
    def step(self) -> int:
        found = STEP.fullmatch(self.folder.name)
        assert found is not None
        return int(found[1])

    def check(self) -> dict[str, Any]:
        """The manifest, once everything has been found to be what was written."""
        manifest = read_json(self.folder / "manifest.json")
        wanted = manifest.get("sha256")
        if not isinstance(wanted, dict) or wanted.get("progress") != digest(manifest.get("progress")):
            raise InputError(f"{self.folder / 'manifest.json'}: damaged: not what was written")
        for name in FILES:
            if not (self.folder / name).is_file() or hashed(self.folder / name) != wanted.get(name):
                raise InputError(f"{self.folder / name}: damaged: not what was written")
        return manifest

    def progress(self) -> dict[str, Any]:
        """What the training knew beside its tensors: scores, what came when."""
        progress: dict[str, Any] = self.check()["progress"]
        return progress

    def tensors(self, name: str) -> Tensors:
        return read_tensors(self.folder / name)

    def shapes(self) -> dict[str, list[int]]:
        """Names and shapes of the weights, without reading them."""
        try:
            with safe_open(self.folder / FILES[0], "pt") as file:
                return {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise InputError(f"{self.folder / FILES[0]}: not a safetensors file: {error}") from error


def manifest(hashes: dict[str, str], progress: dict[str, Any]) -> bytes:
    return json.dumps({"sha256": hashes, "progress": progress}, indent=2).encode()


def digest(table: Any) -> str:
    return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()
