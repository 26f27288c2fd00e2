"""Windows block by block on top of fused attention: time and memory O(n·w) [N0:118-125].

Queries are cut into blocks. A block is shown the keys of its own and its neighbouring blocks,
with the global ones put before them; one small mask, the same for every block, cuts this to the
exact window. The rows at both ends, and global rows that see everything, are done apart.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.attention.kernels.flash import flash, fused
from regard.model.attention.view import View
from regard.model.mask import Mask

BLOCK = 128


def window(
    asked: Float[Tensor, "B H T K"],
    keys: Float[Tensor, "B G T K"],
    values: Float[Tensor, "B G T C"],
    view: View,
    scale: float,
    dropout: float = 0.0,
) -> Float[Tensor, "B H T C"]:
    """Self-attention with a window, and with global positions if the mask has any."""
    mask, length, plan = view.mask, asked.shape[2], _Plan(view.mask, asked.shape[2], asked.device)
    if plan.count < 1:
        return flash(asked, keys, values, view, scale, dropout)

    def edge(low: int, high: int) -> Tensor:
        rows, columns = torch.arange(low, high, device=asked.device), plan.reached(low, high)
        part = _shown(view, rows[None], columns[None], len(asked))
        return fused(
            asked[:, :, low:high], keys[:, :, columns], values[:, :, columns], part, scale=scale, dropout=dropout
        )

    moves = torch.arange(plan.count, device=asked.device)[:, None] * BLOCK
    rows, columns = (
        torch.arange(plan.start, plan.start + BLOCK, device=asked.device),
        plan.reached(plan.start, plan.start + BLOCK),
    )
    middle = fused(
        asked[:, :, plan.start : plan.stop].transpose(1, 2).reshape(-1, BLOCK, *asked.shape[1::2]).transpose(1, 2),
        _Spread.apply(keys, plan),  # type: ignore[no-untyped-call]
        _Spread.apply(values, plan),  # type: ignore[no-untyped-call]
        _shown(view, rows + moves, columns + moves * (columns >= plan.low), len(asked)),
        scale=scale,
        dropout=dropout,
    )
    parts = [edge(0, plan.start).transpose(1, 2), middle.transpose(1, 2).reshape(len(asked), -1, *middle.shape[1::2])]
    if plan.stop < length:
        parts.append(edge(plan.stop, length).transpose(1, 2))
    if mask.first and not mask.causal:
        everything = view.through(Mask(key_lengths=mask.key_lengths))
        seen = flash(asked[:, :, : mask.first], keys, values, everything, scale, dropout)
        parts[:1] = [seen.transpose(1, 2), parts[0][:, mask.first :]]
    return torch.cat(parts, 1).transpose(1, 2)


class _Plan:
    """How n rows are cut: edges before `start` and after `stop`, `count` blocks in between."""

    def __init__(self, mask: Mask, length: int, device: torch.device) -> None:
        assert mask.window is not None
        self.first, self.length, self.device = mask.first, length, device
        self.back = _up(mask.window - 1)
        self.ahead = 0 if mask.causal else self.back
        self.start = _up(self.back + mask.first)
        self.low = self.start - self.back
        self.count = (length - self.ahead - self.start) // BLOCK
        self.stop = self.start + self.count * BLOCK
        self.pieces = self.count + (self.back + self.ahead) // BLOCK

    def reached(self, low: int, high: int) -> Int[Tensor, "S"]:
        """The keys shown to rows low to high: the global ones, and those near."""
        near = torch.arange(max(0, low - self.back), min(self.length, high + self.ahead), device=self.device)
        return near if low < self.start else torch.cat([torch.arange(self.first, device=self.device), near])


def _shown(view: View, rows: Int[Tensor, "N T"], columns: Int[Tensor, "N S"], batch: int) -> Tensor:
    """The masks of N blocks: one for all, unless padding or a slant towards global keys makes them differ."""
    mask = view.mask
    visible = mask.structure().dense(rows[0], columns[0])
    if mask.key_lengths is not None and not mask.pads_last:
        real = columns < mask.key_lengths[:, None, None]  # B N S
        visible = visible & real.flatten(0, 1)[:, None, None]
    bias = view.bias(rows, columns) if mask.first else view.bias(rows[0], columns[0])
    if bias is None:
        return visible
    bias = bias.repeat(batch, 1, 1, 1) if len(bias) > 1 else bias
    return bias.masked_fill(~visible, float("-inf"))


def _up(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


class _Spread(torch.autograd.Function):
    """[B G T K] → [B·count G S K]: to every block the keys it is shown; summed on the way back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, plan: _Plan) -> Tensor:
        ctx.plan, ctx.shape = plan, x.shape
        flat = x.transpose(1, 2)
        blocks = flat[:, plan.low : plan.low + plan.pieces * BLOCK].unflatten(1, (plan.pieces, BLOCK))
        parts = [blocks[:, i : i + plan.count] for i in range(plan.pieces - plan.count + 1)]
        parts.insert(0, flat[:, None, : plan.first].expand(-1, plan.count, -1, -1, -1))
        return torch.cat(parts, 2).flatten(0, 1).transpose(1, 2)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        plan, (rows, groups, length, width) = ctx.plan, ctx.shape
        grad = grads[0].transpose(1, 2).unflatten(0, (rows, plan.count))
        total = grad.new_zeros(rows, length, groups, width)
        blocks = total[:, plan.low : plan.low + plan.pieces * BLOCK].unflatten(1, (plan.pieces, BLOCK))
        for i, part in enumerate(grad[:, :, plan.first :].split(BLOCK, 2)):
            blocks[:, i : i + plan.count] += part
        total[:, : plan.first] += grad[:, :, : plan.first].sum(1)
        return total.transpose(1, 2), None
