"""One table of weights: words or tokens that ask, words or tokens that are looked at. Formed a block at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.looking.line import Line

Rows = Callable[[int, int], Float[Tensor, "t S"]]

BLOCK = 2**22  # numbers of a block
MERGED = "sub-words are merged: the weight of a word is the sum over its tokens, of a row the mean over its tokens"


@dataclass(frozen=True)
class Panel:
    """Who looks at whom, in one head, a mean of heads, a rollout, or by influence: rows on demand."""

    name: str
    title: str
    rows: Line
    columns: Line
    block: Rows
    most: int = 2**30
    """Rows that can be asked for at once without needing much memory."""
    place: tuple[str, int | None, int | None] = ("", None, None)
    """The kind, layer and head it is of; None where it is a mean of all."""

    @property
    def size(self) -> tuple[int, int]:
        """Tokens that ask, and tokens that are looked at."""
        return len(self.rows), len(self.columns)

    def shape(self, words: bool) -> tuple[int, int]:
        """The same in words."""
        return len(self.rows.labels(words)), len(self.columns.labels(words))

    def blocks(self, words: bool, start: int = 0, stop: int | None = None) -> "Iterator[tuple[int, Tensor]]":
        """Some rows after others, words if wanted, each block with the number of its first row."""
        last = self.shape(words)[0] if stop is None else min(stop, self.shape(words)[0])
        spans = self.rows.spans if words else [(row, row + 1) for row in range(len(self.rows))]
        room = max(1, min(self.most, BLOCK // max(1, len(self.columns))))
        while start < last:
            end = start + 1
            while end < last and spans[end][1] - spans[start][0] <= room:
                end += 1
            weights = self.block(spans[start][0], spans[end - 1][1])
            yield start, self._merged(weights, spans[start:end]) if words else weights
            start = end

    def _merged(self, weights: Float[Tensor, "t S"], spans: Sequence[tuple[int, int]]) -> Float[Tensor, "r C"]:
        """Sums over the tokens of a column's word, means over those of a row's."""
        if self.columns.merged:
            into = owners(self.columns.spans).to(weights.device)
            weights = weights.new_zeros(len(weights), len(self.columns.words)).index_add(1, into, weights)
        if not self.rows.merged:
            return weights
        into = owners(spans).to(weights.device)
        sums = weights.new_zeros(len(spans), weights.shape[1]).index_add(0, into, weights)
        return sums / torch.bincount(into, minlength=len(spans))[:, None]

    def table(self, words: bool = True, start: int = 0, stop: int | None = None) -> Float[Tensor, "r C"]:
        """All of it, or some rows; as large as it is."""
        found = [block for _, block in self.blocks(words, start, stop)]
        return torch.cat(found) if found else torch.zeros(0, self.shape(words)[1])

    def pooled(self, most: int, words: bool = True) -> Float[Tensor, "r C"]:
        """At most so many rows and columns: each cell is the largest weight of those that it stands for."""
        tall, wide = self.shape(words)
        sizes = min(tall, most), min(wide, most)
        pooled = torch.full(sizes, float("-inf"))
        across = torch.arange(wide) * sizes[1] // wide
        for start, block in self.blocks(words):
            narrow = block.new_full((len(block), sizes[1]), float("-inf"))
            narrow = narrow.scatter_reduce(1, across.to(block.device).expand_as(block), block, "amax").cpu()
            down = (torch.arange(start, start + len(block)) * sizes[0] // tall)[:, None].expand_as(narrow)
            pooled = pooled.scatter_reduce(0, down, narrow.float(), "amax")
        return pooled


def owners(spans: Sequence[tuple[int, int]]) -> Int[Tensor, "n"]:
    """The number of its word for every token."""
    return torch.repeat_interleave(torch.tensor([stop - start for start, stop in spans], dtype=torch.long))
