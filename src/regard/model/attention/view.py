"""What bears on the scores besides the vectors themselves."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.model.mask import Mask


@dataclass(frozen=True)
class View:
    """Who may look at whom, what distance costs each head, and where the keys of a memory stand.

    Without `at`, queries and keys are numbered from 0. With it, the keys stand there and the
    queries are the last T of them; where rows began at different times each has positions of its own,
    and a negative one is no key. `chosen` says outright who sees what, where no structure does.
    """

    mask: Mask
    slopes: Float[Tensor, "H"] | None = None
    at: Int[Tensor, "*B S"] | None = None
    chosen: Bool[Tensor, "B 1 T S"] | None = None

    @property
    def ragged(self) -> bool:
        """Whether rows have positions of their own."""
        return self.at is not None and self.at.ndim > 1

    def standing(
        self, queries: int, keys: int, device: torch.device
    ) -> tuple[Int[Tensor, "*B T"], Int[Tensor, "*B S"]]:
        """The positions of all queries and keys."""
        if self.at is not None:
            return self.at[..., -queries:], self.at
        return torch.arange(queries, device=device), torch.arange(keys, device=device)

    def visible(self, queries: int, keys: int, device: torch.device, rows: slice) -> Bool[Tensor, "#B 1 t S"]:
        """The dense mask, or some rows of it."""
        if self.chosen is not None:
            return self.chosen[:, :, rows]
        queries_at, keys_at = self.standing(queries, keys, device)
        if self.mask.segments is not None:  # packed rows are known by their number
            return self.mask.dense(queries_at, keys_at)[:, :, rows]
        return self.mask.dense(queries_at[..., rows], keys_at)

    def bias(
        self, queries_at: Int[Tensor, "*N T"], keys_at: Int[Tensor, "*N S"], like: Tensor
    ) -> Float[Tensor, "#N H T S"] | None:
        """-m_h |i - j|, in the type of `like`, and rounded to it once."""
        if self.slopes is None:
            return None
        distance = (queries_at[..., :, None] - keys_at[..., None, :]).abs()
        slopes = self.slopes.to(like.device, torch.promote_types(like.dtype, torch.float32))
        return (-slopes[None, :, None, None] * distance.unsqueeze(-3)).to(like.dtype)

    def through(self, mask: Mask) -> "View":
        return replace(self, mask=mask)
