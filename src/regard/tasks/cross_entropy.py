"""Cross-entropy over a large vocabulary without ever holding all logits.

The head is applied to a slice of positions at a time, and the gradients of that slice are taken at
once, so that logits never leave the cache and are never computed twice.
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

SLICE = 2**23  # logits at a time: 32 MiB


def cross_entropy(
    states: Float[Tensor, "N O"], head: nn.Module, labels: Int[Tensor, "N"], label_smoothing: int | float = 0.0
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Σ −log p(labels), smoothed for training, and the plain one for people to read.

    Smoothed: (1−ε) −log p(labels) + ε mean_v −log p(v) [Szegedy et al. 2016]
    """
    if not isinstance(head, nn.Linear):  # rounded to eight bits: nothing is learnt from it
        plain = F.cross_entropy(head(states), labels, reduction="sum")
        return plain, plain
    known: tuple[Tensor | None, ...] = (states, head.weight, head.bias)
    if not torch.is_grad_enabled():  # else gradients would be made for nobody
        known = tuple(None if tensor is None else tensor.detach() for tensor in known)
    loss, plain = _Sliced.apply(*known, labels, label_smoothing)  # type: ignore[no-untyped-call]
    return loss, plain


class _Sliced(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, label_smoothing: int | float
    ) -> tuple[Tensor, Tensor]:
        learning = any(ctx.needs_input_grad[:3])
        loss, plain = states.new_zeros((), dtype=torch.float32), states.new_zeros((), dtype=torch.float32)
        grads = [torch.empty_like(states), torch.zeros_like(weight), None if bias is None else torch.zeros_like(bias)]
        size = max(1, SLICE // len(weight))
        for start in range(0, len(states), size):
            here = slice(start, start + size)
            x, y = states[here], labels[here, None]
            logs = F.log_softmax(F.linear(x, weight, bias), -1, dtype=torch.float32)
            right = logs.gather(1, y).sum()
            plain -= right
            loss -= (
                right
                if label_smoothing == 0
                else (1 - label_smoothing) * right + label_smoothing / len(weight) * logs.sum()
            )
            if learning:
                _slice_gradient(grads, here, (x, weight), logs.exp_(), y, label_smoothing)
        ctx.grads = grads if learning else None
        ctx.mark_non_differentiable(plain)
        return loss, plain

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        scaled = [None if grad is None else grad.mul_(grads[0]) for grad in ctx.grads]
        ctx.grads = None
        return scaled[0], scaled[1], scaled[2], None, None


def _slice_gradient(
    grads: list[Tensor | None],
    here: slice,
    known: tuple[Tensor, Tensor],
    probs: Tensor,
    y: Tensor,
    label_smoothing: int | float,
) -> None:
    """∂loss/∂logits = p − (1−ε) onehot − ε/V, and from it those of the states and the head."""
    x, weight = known
    states, heads, biases = grads
    assert states is not None
    assert heads is not None
    if label_smoothing:
        probs -= label_smoothing / len(weight)
    probs.scatter_add_(1, y, probs.new_full(y.shape, label_smoothing - 1))
    errors = probs.to(x.dtype)
    torch.mm(errors, weight.to(x.dtype), out=states[here])
    heads.addmm_(errors.T.to(heads.dtype), x.to(heads.dtype))
    if biases is not None:
        biases += errors.sum(0)
