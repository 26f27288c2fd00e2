"""Pictures of what became of images: spoilt, restored and as they should be, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regard.listener import Listener
from regard.pictures import plain, sheet, short, write
from regard.tasks.restoration.restorer import Restored

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE = 1.5  # of an image on the sheet, in inches
LONGEST = 22  # letters above one
WIDER = 4.0  # of a picture of one image
LARGEST = 1_500  # rows and columns of an image that are drawn


@dataclass(frozen=True)
class Sample:
    """A held-out image three times (channels, rows, columns), and the decibels of the first two."""

    name: str
    corrupted: NDArray[np.uint8]
    restored: NDArray[np.uint8]
    clean: NDArray[np.uint8]
    before: float
    after: float


def draw_samples(runs: Mapping[str, Sequence[Sample]], path: Path, listener: Listener | None, about: str = "") -> Path:
    """A row for each image: spoilt, restored by each of some runs, and as it should be; `about` names the data."""
    first, columns = next(iter(runs.values())), len(runs) + 2
    height, width = first[0].clean.shape[1:]
    tall = WIDE * min(3.0, max(0.4, height / width))
    figure, rows = sheet(WIDE * columns, (tall + 0.25) * len(first) + 0.3, len(first), columns)
    for number, (axes, sample) in enumerate(zip(rows, first, strict=True)):
        heads = ["spoilt", *(short(name, LONGEST) or "restored" for name in runs), "as it should be"]
        each = [some[number] for some in runs.values()]
        images = [sample.corrupted, *(one.restored for one in each), sample.clean]
        decibels = [f"{sample.before:.1f} dB", *(f"{one.after:.1f} dB" for one in each), ""]
        for one, image, head, said in zip(axes, images, heads, decibels, strict=True):
            _show(one, image.transpose(1, 2, 0))
            title = "\n".join(part for part in (head if not number else "", said) if part)
            one.set_title(plain(title), fontsize=7)
    figure.suptitle(plain(short(about, LONGEST * columns)), fontsize=7) if about else None
    return write(figure, path, listener)


def draw_restored(found: Restored, path: str | Path, listener: Listener | None = None) -> Path:
    """One image before and after, and as it should be where that is known."""
    images = {"before": found.before, "after": found.pixels}
    images |= {} if found.clean is None else {"as it should be": found.clean}
    height, width = found.pixels.shape[:2]
    tall = WIDER * min(3.0, max(0.3, height / width))
    figure, (axes,) = sheet(WIDER * len(images), tall + 0.5, 1, len(images))
    for one, (title, image) in zip(axes, images.items(), strict=True):
        decibels = found.psnr.get(title)
        _show(one, image)
        one.set_title(plain(title if decibels is None else f"{title}, {decibels:.1f} dB"), fontsize=9)
    return write(figure, path, listener)


def _show(axes: "Axes", image: NDArray[np.uint8]) -> None:
    step = -(-max(image.shape[:2]) // LARGEST)
    shown = image[::step, ::step]
    axes.imshow(shown if shown.shape[2] == 3 else shown[:, :, 0], cmap="gray", vmin=0, vmax=255)
    axes.set_axis_off()
