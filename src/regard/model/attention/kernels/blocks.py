"""The blocks of a window, a few at a time: nothing that is laid side by side is kept for the way back.

Queries are cut into blocks; a block is shown the keys of its own and its neighbouring blocks, with the
global ones put before them. On a CPU torch's fused attention is asked directly, forwards and backwards.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from regard.model.attention.kernels.plan import Plan
from regard.model.attention.view import View

ROWS = 8  # blocks at a time: what is laid side by side for them stays near the processor


@dataclass(frozen=True)
class End:
    """Rows that are not in a block: which they are, the keys they are shown, and how these are mixed for them."""

    low: int
    high: int
    columns: Int[Tensor, "S"]
    mix: Callable[[Tensor, Tensor, Tensor], Tensor]

    def given(self, asked: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return asked[:, :, self.low : self.high], keys[:, :, self.columns], values[:, :, self.columns]


@dataclass(frozen=True)
class Work:
    """All that is to be known of a window besides the vectors."""

    view: View
    plan: Plan
    ends: list[End]
    scale: float


class Windowed(torch.autograd.Function):
    """Attention of all rows, of which only queries, keys, values and what comes out are kept for the way back."""

    @staticmethod
    def forward(ctx: Any, asked: Tensor, keys: Tensor, values: Tensor, work: Work) -> Tensor:
        plan = work.plan
        out = asked.new_empty(len(asked), asked.shape[2], asked.shape[1], values.shape[3])
        sums = []
        for begin, end in _turns(plan, len(asked)):
            given = [plan.cut(asked, begin, end), plan.spread(keys, begin, end), plan.spread(values, begin, end)]
            mixed, logs = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                *given, attn_mask=_additive(plan.shown(work.view, asked, begin, end), asked), scale=work.scale
            )
            plan.paste(out, mixed, begin)
            sums.append(logs)
        for edge in work.ends:
            out[:, edge.low : edge.high] = edge.mix(*edge.given(asked, keys, values)).transpose(1, 2)
        ctx.work = work
        ctx.save_for_backward(asked, keys, values, out, *sums)
        return out.transpose(1, 2)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        asked, keys, values, out, *sums = ctx.saved_tensors
        work, plan = ctx.work, ctx.work.plan
        totals = [torch.zeros_like(x.transpose(1, 2)) for x in (asked, keys, values)]
        # from the last to the first, so that what is said of a key is added up as if all had spoken at once
        for (begin, end), logs in reversed(list(zip(_turns(plan, len(asked)), sums, strict=True))):
            found = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
                plan.cut(grads[0], begin, end),
                plan.cut(asked, begin, end),
                plan.spread(keys, begin, end),
                plan.spread(values, begin, end),
                plan.cut(out.transpose(1, 2), begin, end),
                logs,
                0.0,
                False,
                attn_mask=_additive(plan.shown(work.view, asked, begin, end), asked),
                scale=work.scale,
            )
            plan.paste(totals[0], found[0], begin)
            plan.collect(totals[1], found[1], begin, end)
            plan.collect(totals[2], found[2], begin, end)
        _ends_backward(grads[0], (asked, keys, values), totals, work.ends)
        return *(total.transpose(1, 2) for total in totals), None


def _ends_backward(grad: Tensor, given: tuple[Tensor, Tensor, Tensor], totals: list[Tensor], ends: list[End]) -> None:
    """The few rows of the ends are mixed once more. A later end writes over an earlier: its rows count for it alone."""
    for number, edge in enumerate(ends):
        here = grad[:, :, edge.low : edge.high]
        for later in ends[number + 1 :]:
            if later.low < edge.high and edge.low < later.high:
                here = here.index_fill(2, torch.arange(later.low - edge.low, later.high - edge.low).clamp(0), 0.0)
        with torch.enable_grad():
            parts = [part.detach().requires_grad_() for part in edge.given(*given)]
            found = torch.autograd.grad(edge.mix(*parts), parts, here)
        totals[0][:, edge.low : edge.high] += found[0].transpose(1, 2)
        for total, part in zip(totals[1:], found[1:], strict=True):
            total.index_add_(1, edge.columns, part.transpose(1, 2))


def _turns(plan: Plan, batch: int) -> Iterator[tuple[int, int]]:
    size = max(1, ROWS // batch)
    return ((begin, min(begin + size, plan.count)) for begin in range(0, plan.count, size))


def _additive(shown: Tensor, like: Tensor) -> Tensor:
    """What the kernel adds to the scores: nothing, or minus infinity."""
    if shown.dtype != torch.bool:
        return shown
    return torch.zeros_like(shown, dtype=like.dtype).masked_fill_(~shown, float("-inf"))
