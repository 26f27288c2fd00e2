"""Batches of about equally long rows. Which rows a step sees is a function of (seed, step) alone."""

from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from regard.datasets.rows import Numbers


class Buckets:
    """Rows of like length together: about `most` positions, rows times the longest, in each batch.

    Every epoch shuffles the rows, sorts them by length, cuts, and shuffles the batches. The sorted
    lengths are the same in every epoch, so the cuts are too, and step s is found without the others.
    `lengths` has a column for each side of a row; the longest counts.
    """

    def __init__(self, lengths: NDArray[np.int64], most: int, seed: int) -> None:
        self.lengths, self.seed = lengths, seed
        order = self._sorted(np.arange(len(lengths)))
        self._cuts = _cuts(1 + lengths.max(1)[order] if len(lengths) else np.zeros(0, np.int64), most)
        self._epoch = lru_cache(2)(self._shuffled)

    def __len__(self) -> int:
        """Batches in an epoch."""
        return len(self._cuts) - 1

    def rows(self, step: int) -> Numbers:
        """The rows of a step, however far: epochs follow one another without end."""
        epoch, number = divmod(step, len(self))
        order, batches = self._epoch(epoch)
        at = batches[number]
        return order[self._cuts[at] : self._cuts[at + 1]]

    def in_order(self) -> list[Numbers]:
        """Every row once, for validation."""
        order = self._sorted(np.arange(len(self.lengths)))
        return [order[start:stop] for start, stop in pairwise(self._cuts)]

    def _shuffled(self, epoch: int) -> tuple[Numbers, Numbers]:
        generator = np.random.default_rng((self.seed, epoch))
        order = self._sorted(generator.permutation(len(self.lengths)))
        return order, generator.permutation(len(self))

    def _sorted(self, numbers: Numbers) -> Numbers:
        """By the longest side, then by the difference: up and down in turn, so that neighbours are always alike."""
        lengths = self.lengths[numbers]
        longest, more = lengths.max(1, initial=0), lengths[:, 0] - lengths[:, -1]
        return numbers[np.lexsort((np.where(longest % 2, more, -more), longest))]


def _cuts(sizes: Numbers, most: int) -> list[int]:
    """Where to cut sorted rows so that rows × longest stays within `most`."""
    cuts, start, longest = [0], 0, 0
    for number, size in enumerate(sizes.tolist()):
        longest = max(longest, size)
        if number > start and (number + 1 - start) * longest > most:
            cuts.append(number)
            start, longest = number, size
    return [*cuts, len(sizes)] if len(sizes) else cuts
