"""Pictures of where a classifier looked, one an image."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.disk import place
from regard.errors import InputError
from regard.listener import Listener
from regard.pictures import ENDINGS
from regard.tasks.classification.classifier import Classified, Classifier

LONGEST = 100  # letters of a name


class Pictures:
    """Draws images with what was looked at into one picture, or into a folder under names like theirs."""

    def __init__(self, classifier: Classifier, out: str | Path) -> None:
        self.classifier, self.out = classifier, place(out)
        self.single = self.out.suffix.lower() in ENDINGS
        self.drawn: list[Path] = []
        self._names = set[str]()

    def draw(self, found: Classified, pixels: NDArray[np.uint8], listener: Listener | None = None) -> Path:
        """One more image (rows, columns, channels) that was classified."""
        if self.single and self.drawn:
            raise InputError(f"{self.out}: one picture, and there are several images; name a folder")
        path = self.out if self.single else self.out / f"{self._free(found.name)}.png"
        title = f"{found.label}, {100 * found.probability:.1f} %"
        self.drawn.append(self.classifier.look(pixels).draw(path, title, listener))
        return path

    def _free(self, name: str) -> str:
        stem = Path(name).stem[:LONGEST] or "image"
        made, number = stem, 1
        while made in self._names:
            number += 1
            made = f"{stem}-{number}"
        self._names.add(made)
        return made
