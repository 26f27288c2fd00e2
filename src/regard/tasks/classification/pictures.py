"""Pictures of an evaluation: the confusion matrix, and the worst mistakes side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.listener import Listener
from regard.pictures import panels, plain, rendered, sheet, short, write

NAMED = 40  # classes that can be written beside a picture
COUNTED = 16  # classes whose figures can be written into it
ACROSS = 6  # mistakes in a row of the sheet
LONGEST = 18  # letters of a name on it
TITLE, HEADING = 6, 14  # letters an inch


@dataclass(frozen=True)
class Mistake:
    """An image whose predicted class is wrong, with the probability of that class; `image` as the model saw it."""

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
    found: Mapping[str, NDArray[np.int64]],
    classes: Sequence[str],
    path: Path,
    listener: Listener | None,
    about: str = "",
) -> Path:
    """Of every class (rows) the share that was predicted as each (columns); `about` names the data."""
    side = min(11.0, 2.4 + 0.3 * min(len(classes), NAMED))
    figure, axes = panels(side * len(found), side, len(found))
    names = [plain(short(name, LONGEST)) for name in classes]
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
        one.set(xlabel="predicted class", ylabel="true class", title=plain(short(title, int(TITLE * side))))
        figure.colorbar(picture, ax=one, label="share of the class", shrink=0.7)
    figure.suptitle(plain(short(about, int(HEADING * side * len(found)))), fontsize=8) if about else None
    return write(figure, path, listener)


def mistakes_sheet(mistakes: Sequence[Mistake], about: str = "") -> bytes:
    """The worst mistakes as one picture (PNG): each with its true and its predicted class; `about` names the data."""
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
        label, answer = short(mistake.label, LONGEST), short(mistake.answer, LONGEST)
        one.set_title(plain(f"true: {label}\n{answer}, {sure}"), fontsize=7)
    heading = "The most confident mistakes: true class, predicted class and its probability"
    lines = [short(about, int(1.5 * HEADING * across)), short(heading, int(1.5 * HEADING * across))]
    figure.suptitle(plain("\n".join(filter(None, lines))), fontsize=8)
    return rendered(figure, ".png")[0]
