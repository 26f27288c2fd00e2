"""Many rows of ids, mapped into memory, and how some of them become one padded tensor."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Row i is `ids[starts[i] : starts[i] + lengths[i]]`; chosen rows share the ids of all.

    Without `chosen_starts` they follow each other without gaps: then starts are reckoned when first asked for, as who
    reads a long text from end to end need not hold them.
    """

    ids: NDArray[np.integer]
    lengths: Numbers
    chosen_starts: Numbers | None = None

    @cached_property
    def starts(self) -> Numbers:
        return np.cumsum(self.lengths) - self.lengths if self.chosen_starts is None else self.chosen_starts

    @classmethod
    def of(cls, rows: list[list[int]]) -> "Rows":
        """A few rows at hand."""
        lengths = np.array([len(row) for row in rows], np.int64)
        return cls(np.array([token for row in rows for token in row], np.int64), lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def row(self, number: int) -> NDArray[np.integer]:
        """The ids of one row."""
        return np.asarray(self.ids[self.starts[number] :][: self.lengths[number]])

    def chosen(self, which: NDArray[np.bool_] | Numbers) -> "Rows":
        """Some of the rows."""
        return Rows(self.ids, self.lengths[which], self.starts[which])

    def flat(self) -> Numbers:
        """All ids of all rows, one row after another."""
        before = np.cumsum(self.lengths) - self.lengths
        places = np.repeat(self.starts - before, self.lengths) + np.arange(self.lengths.sum())
        return np.asarray(self.ids)[places].astype(np.int64) if len(places) else np.zeros(0, np.int64)


def padded(
    rows: Rows, fill: int, first: int | None = None, last: int | None = None
) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B"]]:
    """Rows with one more token before or behind each, filled up to the longest, and their lengths.

    All at once in numpy: a tenth of the time `pad_sequence` takes on batches of a hundred sentences.
    """
    lengths, before = rows.lengths, 0 if first is None else 1
    more = before + (0 if last is None else 1)
    width = int(lengths.max(initial=0)) + more
    made = np.full((len(rows), width), fill, np.int64)
    places = np.arange(width)
    made[(places >= before) & (places < before + lengths[:, None])] = rows.flat()
    if first is not None:
        made[:, 0] = first
    if last is not None:
        made[np.arange(len(rows)), before + lengths] = last
    return torch.from_numpy(made), torch.from_numpy(lengths + more)
