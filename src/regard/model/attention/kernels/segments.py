"""Packed sequences: a segment is a row of its own while attention looks at it."""

from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.mask import Mask, places


class Packed:
    """Lay segments out as rows, and back. Costs Σ length², not (Σ length)²."""

    def __init__(self, mask: Mask) -> None:
        segments = mask.segments
        assert segments is not None
        within = places(segments)
        row = (within.flatten() == 0).cumsum(0) - 1
        lengths = torch.bincount(row)
        self.longest = int(lengths.max())
        self.shape, self.count = segments.shape, len(lengths)
        self.slot = row * self.longest + within.flatten()

        def real(given: Tensor | None) -> Tensor:
            """How much of every segment is not padding."""
            if given is None:
                return lengths
            index = torch.arange(segments.shape[1], device=segments.device)
            return torch.zeros_like(lengths).index_add(0, row, (index < given[:, None]).flatten().long())

        keys = real(mask.key_lengths)
        queries = keys if mask.query_lengths is mask.key_lengths else real(mask.query_lengths)
        self.mask = replace(mask, segments=None, key_lengths=keys, query_lengths=queries)

    def unpack(self, x: Float[Tensor, "B H S K"]) -> Float[Tensor, "R H L K"]:
        flat = x.transpose(1, 2).flatten(0, 1)
        rows = flat.new_zeros(self.count * self.longest, *flat.shape[1:]).index_copy(0, self.slot, flat)
        return rows.view(self.count, self.longest, *flat.shape[1:]).transpose(1, 2)

    def pack(self, x: Float[Tensor, "R H L K"]) -> Float[Tensor, "B H S K"]:
        flat = x.transpose(1, 2).flatten(0, 1).index_select(0, self.slot)
        return flat.view(*self.shape, *flat.shape[1:]).transpose(1, 2)


def blank(x: Float[Tensor, "B H T K"], lengths: Int[Tensor, "B"] | None) -> Float[Tensor, "B H T K"]:
    """Zeros past each row's length."""
    if lengths is None:
        return x
    padding = torch.arange(x.shape[2], device=x.device) >= lengths[:, None]
    return x.masked_fill(padding[:, None, :, None], 0.0)
