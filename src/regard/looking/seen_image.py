"""An image that a model read: as it saw it, where its patches lie, and how another is put in its place."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.looking.line import Line, plain_line

if TYPE_CHECKING:
    from regard.looking.scene import Scene

Pixels = NDArray[np.uint8]
Other = Callable[[Pixels | None, str, int | None], "Scene"]
"""Another image (rows, columns, channels) by its name, or the same one; and a class, if not the likeliest."""


@dataclass(frozen=True)
class SeenImage:
    """Pixels as the model saw them (rows, columns, channels), cut into rows and columns of patches."""

    pixels: Pixels
    rows: int
    columns: int
    stands: tuple[int, int]
    """The positions whose states stand for the image, from and to: [CLS], or all patches."""
    who: str
    """The same in words."""
    dark: bool
    """Whether what images show is light, on a dark ground."""
    other: Other

    @property
    def patches(self) -> int:
        """How many there are; they stand behind all other positions."""
        return self.rows * self.columns

    def facts(self) -> dict[str, Any]:
        """As JSON can hold it; no pixels."""
        tall, wide, channels = self.pixels.shape
        size = {"height": tall, "width": wide, "channels": channels}
        return size | {
            "rows": self.rows,
            "columns": self.columns,
            "stands": list(self.stands),
            "who": self.who,
            "dark": self.dark,
        }


def patch_line(extra: Sequence[str], rows: int, columns: int) -> Line:
    """Tokens that are no patch, then the patches, each by its row and column from 0: r0c3."""
    patches = [f"r{row}c{column}" for row in range(rows) for column in range(columns)]
    return plain_line([*extra, *patches], special=len(extra), grid=(rows, columns))
