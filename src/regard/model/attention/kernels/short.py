"""Short rows that all see each other, while learning on a CPU: a few large products, every weight kept.

Where rows are short, torch's fused attention spends its time on many small products, most of it on the way back. Here
all rows of a head are multiplied at once, and the weights are kept and not worked out again. For 197 patches that
takes three quarters of the time, and a row of weights more memory for each query and head.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.model.precision import is_rounded

LONGEST = 256
LEAST = 2**17  # weights a head: below it is over before torch has been asked so often


def is_short(asked: Tensor, keys: Tensor, values: Tensor) -> bool:
    """Whether this is worth while: learning, on a CPU, in full precision, many short rows, as many heads of keys."""
    learning = torch.is_grad_enabled() and (asked.requires_grad or keys.requires_grad or values.requires_grad)
    (rows, heads, queries, _), length = asked.shape, keys.shape[2]
    fits = max(queries, length) <= LONGEST and rows * queries * length >= LEAST and heads == keys.shape[1]
    exact = asked.dtype in (torch.float32, torch.float64) and not is_rounded(asked.device)
    return learning and fits and exact and asked.device.type == "cpu" and not torch.compiler.is_compiling()


def short(
    asked: Float[Tensor, "B H T K"], keys: Float[Tensor, "B H S K"], values: Float[Tensor, "B H S C"], scale: float
) -> Float[Tensor, "B H T C"]:
    """softmax(scale · QKᵀ) V, head by head."""
    out: Tensor = _Short.apply(asked, keys, values, scale)  # type: ignore[no-untyped-call]
    return out


class _Short(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, asked: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
        rows, heads, queries, _ = asked.shape
        out = values.new_empty(rows, queries, heads, values.shape[3])
        weights = []
        for head in range(heads):
            weights.append(torch.bmm(asked[:, head], keys[:, head].mT).mul_(scale).softmax(-1))
            out[:, :, head] = torch.bmm(weights[-1], values[:, head])
        ctx.scale = scale
        ctx.save_for_backward(asked, keys, values, *weights)
        return out.transpose(1, 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        asked, keys, values, *weights = ctx.saved_tensors
        found = [each.new_empty(*each.transpose(1, 2).shape).transpose(1, 2) for each in (asked, keys, values)]
        for head, shares in enumerate(weights):
            answer = grad[:, head]
            mixed = torch.bmm(answer, values[:, head].mT)
            scores = torch._softmax_backward_data(mixed, shares, -1, shares.dtype).mul_(ctx.scale)
            found[0][:, head] = torch.bmm(scores, keys[:, head])
            found[1][:, head] = torch.bmm(scores.mT, asked[:, head])
            found[2][:, head] = torch.bmm(shares.mT, answer)
        return found[0], found[1], found[2], None
