"""All documents of a split as one long row of ids, of which any places can be looked up."""

from dataclasses import dataclass

import numpy as np

from regard.datasets.encode import Encoded
from regard.datasets.rows import Numbers
from regard.datasets.tokenizer import Tokenizer


@dataclass(frozen=True)
class Marks:
    """What stands before a document and behind it; many tokenizers have one token for both."""

    begin: int
    end: int

    @property
    def before(self) -> tuple[int, ...]:
        """What stands before every document but the first."""
        return (self.begin,) if self.begin == self.end else (self.end, self.begin)


class Stream:
    """Begin, first document, end and begin, second document, …, end. Nothing of it is held but what is asked for."""

    def __init__(self, corpus: Encoded, marks: Marks, lead: int = 0) -> None:
        rows, numbers = corpus.sides[0], corpus.numbers
        first = np.ones(len(numbers) + 1, bool)  # one more: what stands behind the last document
        first[1:-1] = numbers[1:] != numbers[:-1]
        skipped = np.where(first[:-1], 0, np.minimum(lead, rows.lengths))  # what goes on has nothing before it
        self.marks, self._rows = marks, rows
        self._starts = np.append(rows.starts + skipped, 0)
        self._before = np.where(first, len(marks.before), 0)
        self._before[[0, -1]] = 1
        sizes = self._before + np.append(rows.lengths - skipped, 0)
        self._offsets = np.cumsum(sizes) - sizes
        self._documents = np.cumsum(first)
        self._length = int(sizes.sum()) if len(numbers) else 0

    def __len__(self) -> int:
        return self._length

    def ids(self, places: Numbers) -> Numbers:
        """The ids at some places."""
        piece, inside = self._find(places)
        before = self._before[piece]
        marked, last = inside < before, (inside == before - 1) & (piece < len(self._offsets) - 1)
        text = np.where(marked, 0, self._starts[piece] + inside - before)
        found = self._rows.ids[text].astype(np.int64) if len(self._rows.ids) else np.zeros_like(places)
        return np.where(marked, np.where(last, self.marks.begin, self.marks.end), found)

    def documents(self, places: Numbers) -> Numbers:
        """Which document each place belongs to, with what begins it, and what ends it where that is another token."""
        piece, inside = self._find(places)
        return self._documents[piece] - (inside < self._before[piece] - 1)

    def _find(self, places: Numbers) -> tuple[Numbers, Numbers]:
        """The piece that each place is in, and how far inside."""
        piece = np.searchsorted(self._offsets, places, side="right") - 1
        return piece, places - self._offsets[piece]


def lead(tokenizer: Tokenizer) -> int:
    """How many ids a tokenizer puts before a text that only goes on: some write a space before every text."""
    alone, behind = tokenizer.encode(["\nx", "a\nx"])
    return next((n for n in range(len(alone)) if alone[n:] == behind[len(behind) - len(alone) + n :]), 0)
