"""Large images in pieces: each with so much around it that it becomes what it would have become in the whole."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Tile:
    """A stretch of rows or of columns: `kept` of the whole, which is `part` of what is read."""

    read: slice
    part: slice
    kept: slice


def tiles(length: int, side: int, margin: int, grid: int) -> Iterator[Tile]:
    """Stretches of about `side` that make up a length, each read with a margin. They begin at multiples of `grid`,
    where the pixels of a smaller picture begin, too."""
    side, margin = (-(-one // grid) * grid for one in (side, margin))
    for start in range(0, length, side):
        end = min(start + side, length)
        first, last = max(0, start - margin), min(end + margin, length)
        yield Tile(slice(first, last), slice(start - first, end - first), slice(start, end))
