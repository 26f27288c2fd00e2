"""Pictures of an evaluation: which classes are taken for which, and the worst mistakes side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.listener import Listener
from regard.pictures import panels, plain, rendered, sheet, write

NAMED = 40  # classes that can be written beside a picture
COUNTED = 16  # classes whose figures can be written into it
ACROSS = 6  # mistakes in a row of the sheet
LONGEST = 18  # letters of a name on it


@dataclass(frozen=True)
class Mistake:
    """An image that was taken for another class, and how sure the model was of that; `image` as it saw it."""

    name: str
    label: str
    answer: str
    probability: float
    image: NDArray[np.uint8]
    """Channels, rows, columns."""

    def facts(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {"name": self.name, "label": self.label, "answer": self.answer, "probability": self.probability}


def draw_confusion(
    found: Mapping[str, NDArray[np.int64]], classes: Sequence[str], path: Path, listener: Listener | None
) -> Path:
    """Of every class (rows) the share that was taken for each (columns)."""
    side = min(11.0, 2.4 + 0.3 * min(len(classes), NAMED))
    figure, axes = panels(side * len(found), side, len(found))
    names = [plain(short(name)) for name in classes]
    for one, (title, counts) in zip(axes, found.items(), strict=True):
        shares = counts / np.maximum(1, counts.sum(1, keepdims=True))
        picture = one.imshow(shares, cmap="Greens", vmin=0, vmax=1)
        if len(classes) <= NAMED:
            one.set_xticks(range(len(names)), names, rotation=90)
            one.set_yticks(range(len(names)), names)
        if len(classes) <= COUNTED:
            for row, column in zip(*np.nonzero(counts), strict=True):
                ink = "white" if shares[row, column] > 0.5 else "black"
                one.text(column, row, f"{counts[row, column]:,}", ha="center", va="center", fontsize=7, color=ink)
        one.set(xlabel="named", ylabel="is", title=plain(title))
        figure.colorbar(picture, ax=one, label="share of the class", shrink=0.7)
    return write(figure, path, listener)


def mistakes_sheet(mistakes: Sequence[Mistake]) -> bytes:
    """The worst mistakes as one picture (PNG): each with what it is and what it was taken for."""
    across = min(ACROSS, max(3, len(mistakes)))
    down = ceil(len(mistakes) / across)
    figure, rows = sheet(1.5 * across, 1.9 * down + 0.4, down, across)
    axes = [one for row in rows for one in row]
    for one in axes:
        one.set_axis_off()
    for one, mistake in zip(axes, mistakes, strict=False):
        image = mistake.image.transpose(1, 2, 0)
        one.imshow(image if image.shape[2] == 3 else image[:, :, 0], cmap="gray", vmin=0, vmax=255)
        sure = f"{100 * mistake.probability:.0f} %"
        one.set_title(plain(f"is {short(mistake.label)}\nnamed {short(mistake.answer)}, {sure}"), fontsize=7)
    figure.suptitle("The worst mistakes: how sure it was of each", fontsize=9)
    return rendered(figure, ".png")[0]


def short(name: str) -> str:
    """A name as a picture has room for it."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
