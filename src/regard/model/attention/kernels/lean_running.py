"""Causal linear attention a few chunks at a time: besides the inputs only the sums before each chunk are kept."""

from typing import Any

import torch
from torch import Tensor

ROWS = 16  # chunks at a time: what is made for them stays near the processor


class Running(torch.autograd.Function):
    """Chunks [B H N c F] and earlier sums in; mixed values, norms and the sums after all chunks out."""

    @staticmethod
    def forward(
        ctx: Any, asked: Tensor, keys: Tensor, values: Tensor, sums: Tensor, totals: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        mixed, norm = values.new_empty(*asked.shape[:4], values.shape[4]), asked.new_empty(asked.shape[:4])
        kept, so_far = [], [sums.double(), totals.double()]  # torch's own running sums are in double, too
        for here in _turns(asked.shape[2]):
            q, k, v = asked[:, :, here], keys[:, :, here], values[:, :, here]
            each, each_total = k.mT @ v, k.sum(-2)
            before, so_far[0] = _earlier(each, so_far[0])
            before_total, so_far[1] = _earlier(each_total, so_far[1])
            local = (q @ k.mT).tril()
            mixed[:, :, here] = local @ v + q @ before
            norm[:, :, here] = local.sum(-1) + (q @ before_total[..., None]).squeeze(-1)
            kept += [before, before_total]
        ctx.save_for_backward(asked, keys, values, *kept)
        return mixed, norm, before[:, :, -1] + each[:, :, -1], before_total[:, :, -1] + each_total[:, :, -1]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """From the last chunk to the first; what later ones say of the sums is carried along."""
        asked, keys, values, *kept = ctx.saved_tensors
        mixed_grad, norm_grad, later, later_total = grads
        found = [torch.empty_like(tensor) for tensor in (asked, keys, values)]
        for place, here in reversed(list(enumerate(_turns(asked.shape[2])))):
            q, k, v = asked[:, :, here], keys[:, :, here], values[:, :, here]
            out, total = mixed_grad[:, :, here], norm_grad[:, :, here, :, None]
            before, before_total = kept[2 * place : 2 * place + 2]
            after, later = _afterwards(q.mT @ out, later)
            after_total, later_total = _afterwards((q.mT @ total).squeeze(-1), later_total)
            local_grad = (out @ v.mT + total).tril()
            found[0][:, :, here] = local_grad @ k + out @ before.mT + total * before_total[..., None, :]
            found[1][:, :, here] = local_grad.mT @ q + v @ after.mT + after_total[..., None, :]
            found[2][:, :, here] = (q @ k.mT).tril().mT @ out + k @ after
        return found[0], found[1], found[2], later, later_total


def _turns(chunks: int) -> list[slice]:
    return [slice(begin, min(begin + ROWS, chunks)) for begin in range(0, chunks, ROWS)]


def _earlier(each: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
    """What all chunks before each one left, and all of them together."""
    before = torch.cat([start[:, :, None], each[:, :, :-1].double()], 2).cumsum(2)
    return before.to(each.dtype), before[:, :, -1] + each[:, :, -1]


def _afterwards(each: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
    """What all chunks after each one say, and all of them together."""
    after = torch.cat([last[:, :, None], each[:, :, 1:].flip(2)], 2).cumsum(2).flip(2)
    return after, after[:, :, 0] + each[:, :, 0]
