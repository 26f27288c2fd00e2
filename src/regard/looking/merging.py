"""Tables of weights made smaller: sub-words into words, and many words into cells that can be seen."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from regard.looking.line import Line, Span

NOTHING = float("-inf")


def merged(weights: Float[Tensor, "*h t S"], rows: Sequence[Span], columns: Line) -> Float[Tensor, "*h r C"]:
    """Words for tokens: a column is the sum over its tokens, a row the mean over its, so that rows still sum to 1."""
    if columns.merged:
        into = _owners(columns.spans).to(weights.device)
        weights = weights.new_zeros(*weights.shape[:-1], len(columns.words)).index_add(-1, into, weights)
    if len(rows) == weights.shape[-2]:
        return weights
    into = _owners(rows).to(weights.device)
    sums = weights.new_zeros(*weights.shape[:-2], len(rows), weights.shape[-1]).index_add(-2, into, weights)
    return sums / torch.bincount(into, minlength=len(rows))[:, None]


class Pool:
    """A table of any size as one of at most `most` rows and columns: each cell is the largest of those it stands for.

    The largest and not the mean, which would hide what a head looks at among a thousand words.
    """

    def __init__(self, shape: tuple[int, int], most: int, heads: tuple[int, ...] = ()) -> None:
        self.stride = -(-shape[0] // most) or 1, -(-shape[1] // most) or 1
        """How many rows and columns a cell stands for."""
        self.cells = torch.full((*heads, *map(_ceiling, shape, self.stride)), NOTHING)

    def add(self, start: int, block: Float[Tensor, "*h t S"]) -> None:
        """Some rows, of which the first is number `start`."""
        down, across = self.stride
        if across > 1:
            rest = -block.shape[-1] % across
            block = F.pad(block, (0, rest), value=NOTHING).unflatten(-1, (-1, across)).amax(-1)
        into = (torch.arange(start, start + block.shape[-2]) // down)[:, None].expand(block.shape)
        self.cells = self.cells.scatter_reduce(-2, into, block.cpu().float(), "amax")


def _ceiling(size: int, stride: int) -> int:
    return -(-size // stride)


def _owners(spans: Sequence[Span]) -> Int[Tensor, "n"]:
    """The number of its word for every token."""
    return torch.repeat_interleave(torch.tensor([stop - start for start, stop in spans], dtype=torch.long))
