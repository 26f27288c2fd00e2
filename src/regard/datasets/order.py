"""Many numbers in a random order, of which any can be looked up and none is held."""

import numpy as np
from numpy.typing import NDArray

from regard.datasets.rows import Numbers

HELD = 2**20  # numbers that are shuffled in memory; of more each is reckoned when it is asked for
ROUNDS = 4


def shuffled(size: int, chance: np.random.Generator) -> "Numbers | Reckoned":
    """The numbers from 0 to `size` - 1, each once, in an order by chance."""
    return chance.permutation(size) if size <= HELD else Reckoned(size, chance)


class Reckoned:
    """A shuffle that is a formula: each number is cut into two halves, which scramble each other in turn.

    However they do so it can be undone, so that no two numbers become the same [Feistel 1973; Luby and Rackoff 1988].
    What comes out too large goes in again until it fits [Black and Rogaway 2002]: less than four times on average.
    """

    def __init__(self, size: int, chance: np.random.Generator) -> None:
        self._size = np.uint64(size)
        self._half = np.uint64(-(-(size - 1).bit_length() // 2))
        self._keys = chance.integers(2**64, size=ROUNDS, dtype=np.uint64)

    def __getitem__(self, places: slice) -> Numbers:
        asked = range(int(self._size))[places]
        found = self._scrambled(np.array(asked, np.uint64))
        while (outside := found >= self._size).any():
            found[outside] = self._scrambled(found[outside])
        return found.astype(np.int64)

    def _scrambled(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        left, right = numbers >> self._half, numbers & ((np.uint64(1) << self._half) - np.uint64(1))
        for key in self._keys:
            left, right = right, left ^ (_mixed(right + key) >> (np.uint64(64) - self._half))
        return (left << self._half) | right


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit of a number changes half of the bits of what it becomes."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
