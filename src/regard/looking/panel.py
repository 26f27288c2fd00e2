"""One table of weights: words or tokens that ask, words or tokens that are looked at. Formed a block at a time."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import InputError
from regard.looking.line import Line, Span
from regard.looking.merging import Pool, merged

ROWS = re.compile(r"(\d{0,9}):(\d{0,9})")
BLOCK = 2**22  # numbers of a block

Rows = Callable[[int, int], Float[Tensor, "t S"]]


@dataclass(frozen=True)
class Panel:
    """Who looks at whom, in one head, a mean of heads, a rollout, or by influence: rows on demand."""

    name: str
    title: str
    rows: Line
    columns: Line
    block: Rows
    """Exact weights of tokens from one to another."""
    most: int = 2**30
    """Rows that can be asked for at once without needing much memory."""
    place: tuple[str, int | None, int | None] = ("", None, None)
    """The kind, layer and head it is of; None where it is a mean of all."""
    words: bool = True
    """Whether it is shown in words, and not token by token, unless something else is asked for."""

    def __str__(self) -> str:
        """In letters and shades."""
        from regard.looking.letters import in_letters

        return in_letters(self, self.words)

    def _repr_html_(self) -> str:
        """In a notebook."""
        from regard.looking.letters import in_html

        return in_html(self, self.words)

    def shape(self, words: bool) -> tuple[int, int]:
        """Words (or tokens) that ask, and that are looked at."""
        return len(self.rows.labels(words)), len(self.columns.labels(words))

    def cut(self, rows: str, words: bool) -> "Panel":
        """Some of its rows, START:STOP in words or tokens, as a panel of their own; without a word about it, all."""
        if not rows:
            return self
        found, count = ROWS.fullmatch(rows), self.shape(words)[0]
        if found is None:
            raise InputError(f"rows: wanted START:STOP, such as 0:50, given {rows!r}")
        start, stop = int(found[1] or 0), min(int(found[2] or count), count)
        if start >= stop:
            raise InputError(f"rows: {rows} is none of {count:,} {'words' if words else 'tokens'}, counted from 0")
        line, first = self.rows.part(start, stop, words)
        return replace(self, rows=line, block=lambda low, high: self.block(first + low, first + high))

    def blocks(self, words: bool, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, Tensor]]:
        """Some rows after others, words if wanted, each block with the number of its first row."""
        last = self.shape(words)[0] if stop is None else min(stop, self.shape(words)[0])
        most = min(self.most, BLOCK // max(1, len(self.columns)))
        for first, spans in row_blocks(self.rows, words, most, start, last):
            weights = self.block(spans[0][0], spans[-1][1])
            yield first, merged(weights, spans, self.columns) if words else weights

    def table(self, words: bool | None = None, start: int = 0, stop: int | None = None) -> Float[Tensor, "r C"]:
        """All of its numbers, or those of some rows; as large as it is."""
        words = self.words if words is None else words
        found = [block for _, block in self.blocks(words, start, stop)]
        return torch.cat(found) if found else torch.zeros(0, self.shape(words)[1])

    def pooled(self, most: int, words: bool = True) -> Float[Tensor, "r C"]:
        """At most so many rows and columns: each cell is the largest weight of those that it stands for."""
        pool = Pool(self.shape(words), most)
        for start, block in self.blocks(words):
            pool.add(start, block)
        return pool.cells


def row_blocks(line: Line, words: bool, most: int, start: int, stop: int) -> Iterator[tuple[int, list[Span]]]:
    """Rows start to stop in blocks of at most so many tokens (or one word), as spans of tokens."""
    spans = line.spans if words else tuple((place, place + 1) for place in range(len(line)))
    while start < stop:
        end = start + 1
        while end < stop and spans[end][1] - spans[start][0] <= most:
            end += 1
        yield start, list(spans[start:end])
        start = end
