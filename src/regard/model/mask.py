"""Who may look at whom, said by structure and made dense only where it must be.

The notes: PAD positions and future positions get minus infinity before the softmax, so their
weights are exactly 0 [N2:265-272, N2:713-723, N4:121-127].
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Mask:
    """A position sees another if every part of the mask allows it.

    `window` w: those less than w away. `first` g: whatever the window, the first g positions are
    seen by all and see all. `key_lengths`: only that many keys of each row are real.
    `query_lengths`: rows past it are padding and see nothing. `segments`: several sequences
    packed one after another in a row; each sees only itself, and windows and global positions
    count from its own beginning.
    """

    causal: bool = False
    window: int | None = None
    first: int = 0
    key_lengths: Int[Tensor, "B"] | None = None
    query_lengths: Int[Tensor, "B"] | None = None
    segments: Int[Tensor, "B S"] | None = None

    def __and__(self, other: "Mask") -> "Mask":
        near, far = sorted((self, other), key=lambda mask: (_reach(mask.window), mask.first))
        if near.first > far.first and _reach(far.window) < _reach(None):
            raise ValueError("two windows can be joined only if the narrower has no more global positions")
        return Mask(
            self.causal or other.causal,
            near.window,
            near.first,
            _least(self.key_lengths, other.key_lengths),
            _least(self.query_lengths, other.query_lengths),
            _pair(self.segments, other.segments),
        )

    def padded(self, lengths: Int[Tensor, "B"] | None) -> "Mask":
        """Self-attention over padded rows: a padded position neither sees nor is seen."""
        return self & Mask(key_lengths=lengths, query_lengths=lengths)

    @property
    def pads_last(self) -> bool:
        """Whether rows that are not padding can see padding only ahead of them, where a causal mask hides it."""
        return self.causal and self.key_lengths is self.query_lengths

    @property
    def hides_nothing(self) -> bool:
        """Whether everybody sees everybody."""
        lengths = (self.key_lengths, self.query_lengths, self.segments)
        return not self.causal and self.window is None and all(part is None for part in lengths)

    def structure(self) -> "Mask":
        """What holds for every batch: the pattern without lengths and segments."""
        return replace(self, key_lengths=None, query_lengths=None, segments=None)

    def dense(self, queries: Int[Tensor, "*B T"], keys: Int[Tensor, "*B S"]) -> Bool[Tensor, "#B 1 T S"]:
        """True where the query at one position sees the key at another.

        Rows of a batch may have positions of their own; no one sees a key at a negative one.
        """
        if keys.ndim == 1:
            queries, keys, there = queries[None], keys[None], None
        else:
            there = keys[:, None] >= 0
        rows, columns = queries[:, :, None], keys[:, None]
        visible = torch.ones_like(rows - columns, dtype=torch.bool) if there is None else there
        start = places(self.segments) if self.segments is not None else None
        if self.window is not None:
            near = (rows - columns < self.window) & (columns - rows < self.window)
            at_rows, at_columns = (rows, columns) if start is None else (start[:, :, None], start[:, None])
            visible = visible & (near | (at_rows < self.first) | (at_columns < self.first))
        if self.causal:
            visible = visible & (columns <= rows)
        if start is not None:
            runs = (start == 0).cumsum(1)  # a number that comes again is another sequence
            visible = visible & (runs[:, :, None] == runs[:, None, :])
        if self.key_lengths is not None:
            visible = visible & (columns < self.key_lengths[:, None, None])
        if self.query_lengths is not None:
            visible = visible & (rows < self.query_lengths[:, None, None])
        return visible[:, None]

    def __str__(self) -> str:
        """The mask drawn for as many positions as it takes to see it."""
        size = self.segments.shape[1] if self.segments is not None else self._extent()
        at = torch.arange(size)
        drawings = (
            "\n".join(" ".join("■" if cell else "·" for cell in row) for row in grid)
            for grid in self.dense(at, at)[:, 0].tolist()
        )
        return "\n\n".join(drawings)

    def _extent(self) -> int:
        longest = max(
            (int(given.max()) for given in (self.key_lengths, self.query_lengths) if given is not None), default=0
        )
        return max(longest, min(24, (self.window or 3) + self.first + 3))


def places(segments: Int[Tensor, "B S"]) -> Int[Tensor, "B S"]:
    """The position of every token within its own segment."""
    index = torch.arange(segments.shape[1], device=segments.device).expand_as(segments)
    starts = torch.zeros_like(index)
    starts[:, 1:] = torch.where(segments[:, 1:] != segments[:, :-1], index[:, 1:], 0)
    return index - starts.cummax(1).values


def _reach(window: int | None) -> float:
    return float("inf") if window is None else float(window)


def _least(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    if one is None or other is None or one is other:  # `pads_last` asks whether two are the same
        return other if one is None else one
    return torch.minimum(one, other)


def _pair(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    if one is None or other is None:
        return other if one is None else one
    return one * (other.max() - other.min() + 1) + (other - other.min())
