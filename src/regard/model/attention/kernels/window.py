"""Windows block by block on top of fused attention: time and memory O(n·w) [N0:118-125].

Queries are cut into blocks. A block is shown the keys of its own and its neighbouring blocks,
with the global ones put before them; one small mask, the same for every block, cuts this to the
exact window. The rows at both ends, and global rows that see everything, are done apart.
"""

from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.model.attention.kernels.blocks import End, Windowed, Work
from regard.model.attention.kernels.flash import flash, fused
from regard.model.attention.kernels.plan import Plan, shown
from regard.model.attention.view import View
from regard.model.mask import Mask
from regard.model.precision import is_rounded

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
    plan = Plan(view.mask, asked.shape[2], BLOCK, asked.device)
    if plan.count < 1:
        return flash(asked, keys, values, view, scale, dropout)
    ends = _ends(view, plan, asked, scale, dropout)
    if _direct(asked, keys, values, dropout):
        out: Tensor = Windowed.apply(asked, keys, values, Work(view, plan, ends, scale))  # type: ignore[no-untyped-call]
        return out
    middle = fused(
        plan.cut(asked, 0, plan.count),
        _Spread.apply(keys, plan),  # type: ignore[no-untyped-call]
        _Spread.apply(values, plan),  # type: ignore[no-untyped-call]
        plan.shown(view, asked, 0, plan.count),
        scale=scale,
        dropout=dropout,
    )
    edges = [end.mix(*end.given(asked, keys, values)).transpose(1, 2) for end in ends]
    parts = [edges[0], middle.transpose(1, 2).reshape(len(asked), -1, *middle.shape[1::2]), *edges[1:2]]
    if plan.first and not view.mask.causal:
        parts = [edges[-1], edges[0][:, plan.first :], *parts[1 : len(ends)]]
    return torch.cat(parts, 1).transpose(1, 2)


def _ends(view: View, plan: Plan, like: Tensor, scale: float, dropout: float) -> list[End]:
    """The rows before and after the blocks; then, where they see everything, the global ones."""

    def edge(low: int, high: int) -> End:
        columns = plan.reached(low, high)
        part = shown(view, torch.arange(low, high, device=plan.device)[None], columns[None], like)
        return End(low, high, columns, partial(fused, mask=part, scale=scale, dropout=dropout))

    ends = [edge(0, plan.start)]
    if plan.stop < plan.length:
        ends.append(edge(plan.stop, plan.length))
    if plan.first and not view.mask.causal:
        everything = view.through(Mask(key_lengths=view.mask.key_lengths))
        all_keys = torch.arange(plan.length, device=plan.device)
        ends.append(End(0, plan.first, all_keys, partial(flash, view=everything, scale=scale, dropout=dropout)))
    return ends


def _direct(asked: Tensor, keys: Tensor, values: Tensor, dropout: float) -> bool:
    """Whether torch's fused attention on a CPU would take these as they are, and nobody traces what happens."""
    alike = asked.shape[1] == keys.shape[1] and asked.shape[3] == values.shape[3]
    plain = not dropout and not is_rounded(asked.device) and not torch.compiler.is_compiling()
    return asked.device.type == "cpu" and alike and plain


class _Spread(torch.autograd.Function):
    """[B G T K] → [B·count G S K]: to every block the keys it is shown; summed on the way back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, plan: Plan) -> Tensor:
        ctx.plan, ctx.shape = plan, x.shape
        return plan.spread(x, 0, plan.count)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        rows, groups, length, width = ctx.shape
        total = grads[0].new_zeros(rows, length, groups, width)
        ctx.plan.collect(total, grads[0], 0, ctx.plan.count)
        return total.transpose(1, 2), None
