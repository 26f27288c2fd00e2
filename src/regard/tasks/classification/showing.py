"""Pictures of where a classifier looked, one an image."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.listener import Listener
from regard.tasks.classification.classifier import Classified, Classifier
from regard.tasks.images.places import Places


class Pictures:
    """Draws images with what was looked at into one picture, or into a folder under names like theirs."""

    def __init__(self, classifier: Classifier, out: str | Path, overwrite: bool = False) -> None:
        self.classifier, self.places = classifier, Places(out, overwrite=overwrite)

    def draw(self, found: Classified, pixels: NDArray[np.uint8], listener: Listener | None = None) -> Path:
        """One more image (rows, columns, channels) that was classified."""
        title = f"{found.label}, {100 * found.probability:.1f} %"
        return self.classifier.look(pixels).draw(self.places.next(found.name), title, listener)
