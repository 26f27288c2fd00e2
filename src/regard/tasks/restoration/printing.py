"""Restored images as files: each written under a name like its own, and drawn beside what it was."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.disk import write
from regard.listener import Listener
from regard.tasks.images.places import Places
from regard.tasks.restoration.pictures import draw_restored
from regard.tasks.restoration.restorer import Restored, Restorer, png_bytes

PNG = ".png"


class Prints:
    """Restores one image after the other; writes it where `out` says and draws it where `show` says, if they do."""

    def __init__(
        self,
        restorer: Restorer,
        out: str | Path | None = None,
        show: str | Path | None = None,
        corrupt: bool = False,
        overwrite: bool = False,
    ) -> None:
        self.restorer, self.corrupt = restorer, corrupt
        self.written = None if out is None else Places(out, (PNG,), overwrite)
        self.shown = None if show is None else Places(show, overwrite=overwrite)
        self.done = 0

    def restore(self, name: str, image: NDArray[np.uint8], listener: Listener) -> Restored:
        """One more image (rows, columns, channels)."""
        path = None if self.written is None else self.written.next(name)
        given = self.restorer.corrupted(image, self.done) if self.corrupt else image
        found = Restored(name, given, self.restorer.restore(given), image if self.corrupt else None, path)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, png_bytes(found.pixels))
        if self.shown is not None:
            draw_restored(found, self.shown.next(name), listener)
        self.done += 1
        return found
