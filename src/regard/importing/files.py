"""The files of a folder that somebody else has made."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.disk import read_json

BLOB = re.compile(r"\.\./\.\./blobs/([0-9a-f]{40}|[0-9a-f]{64})")


@dataclass(frozen=True)
class Folder:
    """A folder of plain files; in the cache of the Hugging Face hub each is a link to a blob, which is read."""

    path: Path

    def file(self, name: str) -> Path:
        """Where a file of this name is; the door refuses any other link."""
        path = self.path / name
        if path.is_symlink() and (blob := BLOB.fullmatch(os.readlink(path))):
            return self.path.resolve().parent.parent / "blobs" / blob[1]
        return path

    def has(self, name: str) -> bool:
        return os.path.lexists(self.path / name)

    def table(self, name: str) -> dict[str, Any]:
        """A JSON table; an empty one if there is no such file."""
        return read_json(self.file(name)) if self.has(name) else {}
