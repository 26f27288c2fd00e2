"""All documents of a split as one long row of ids, of which any places can be looked up."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from regard.datasets.encode import Encoded
from regard.datasets.rows import Numbers
from regard.datasets.tokenizer import Tokenizer

EVERY, LATELY = 256, 64  # pieces in a block, and blocks that are kept
AT_ONCE = 1 << 20  # ids


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
    """Begin, first document, end and begin, second document, …, end. Nothing of it is held but what is asked for.

    Of every `EVERY`-th piece it is known where it stands; the places of those between are reckoned when looked up.
    """

    def __init__(self, corpus: Encoded, marks: Marks, lead: int = 0) -> None:
        self.marks, self._lead = marks, lead
        self._rows, self._numbers = corpus.sides[0], corpus.numbers
        self._block = lru_cache(LATELY)(self._reckoned)
        self._bases = np.zeros((-(-(len(self._numbers) + 1) // EVERY) + 1, 3), np.int64)
        for number in range(len(self._bases) - 1):
            self._bases[number + 1] = self._reckoned(number)[1]
        self._length = int(self._bases[-1, 0]) if len(self._numbers) else 0

    def __len__(self) -> int:
        return self._length

    def ids(self, places: Numbers) -> Numbers:
        """The ids at some places."""
        offsets, before, starts, _ = self._find(places)
        inside = places - offsets
        marked, last = inside < before, (inside == before - 1) & (offsets < self._length - 1)
        text = np.where(marked, 0, starts + inside - before)
        found = self._rows.ids[text].astype(np.int64) if len(self._rows.ids) else np.zeros_like(places)
        return np.where(marked, np.where(last, self.marks.begin, self.marks.end), found)

    def distinct(self) -> set[int]:
        """All ids of texts, each once."""
        ids, found = self._rows.ids, set[int]()
        for start in range(0, len(ids), AT_ONCE):
            found.update(np.unique(ids[start : start + AT_ONCE]).tolist())
        return found

    def documents(self, places: Numbers) -> Numbers:
        """Which document each place belongs to, with what begins it, and what ends it where that is another token."""
        offsets, before, _, documents = self._find(places)
        found: Numbers = documents - (places - offsets < before - 1)
        return found

    def _find(self, places: Numbers) -> Numbers:
        """Of the piece that each place is in: its own place, how many marks it begins with, its ids, its document."""
        flat = places.reshape(-1)
        blocks = np.searchsorted(self._bases[:-1, 0], flat, side="right") - 1
        found = np.empty((4, len(flat)), np.int64)
        for number in np.unique(blocks).tolist():
            here = blocks == number
            pieces = self._block(number)[0]
            found[:, here] = pieces[:, np.searchsorted(pieces[0], flat[here], side="right") - 1]
        return found.reshape(4, *places.shape)

    def _reckoned(self, block: int) -> tuple[Numbers, Numbers]:
        """The same of all pieces of a block, and where the next block begins: place, ids and documents before it."""
        start, count = block * EVERY, len(self._numbers)
        stop = min(start + EVERY, count)
        size = min(start + EVERY, count + 1) - start  # one more than there are: what stands behind the last document
        lengths, first = np.zeros(size, np.int64), np.ones(size, bool)
        lengths[: stop - start] = self._rows.lengths[start:stop]
        known = max(start, 1)
        first[known - start : stop - start] = self._numbers[known:stop] != self._numbers[known - 1 : stop - 1]
        skipped = np.where(first, 0, np.minimum(self._lead, lengths))  # what goes on has nothing before it
        before = np.where(first, len(self.marks.before), 0)
        at = start + np.arange(size)
        before[(at == 0) | (at == count)] = 1
        sizes = before + lengths - skipped
        place, ids, documents = self._bases[block]
        pieces = np.stack([
            place + np.cumsum(sizes) - sizes, before, ids + np.cumsum(lengths) - lengths + skipped,
            documents + np.cumsum(first),
        ])  # fmt: skip
        return pieces, self._bases[block] + np.array([sizes.sum(), lengths.sum(), first.sum()])


def lead(tokenizer: Tokenizer) -> int:
    """How many ids a tokenizer puts before a text that only goes on: some write a space before every text."""
    alone, behind = tokenizer.encode(["\nx", "a\nx"])
    return next((n for n in range(len(alone)) if alone[n:] == behind[len(behind) - len(alone) + n :]), 0)
