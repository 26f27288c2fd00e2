"""Rows sorted by group, each group times a matrix of its own: no row is touched twice."""

from typing import Any

import torch
from torch import Tensor


@torch.library.custom_op("regard::grouped", mutates_args=())
def grouped(x: Tensor, weight: Tensor, stops: Tensor) -> Tensor:
    """[N I], [E I O] → [N O]: rows up to `stops[e]` are multiplied by `weight[e]`."""
    out, start = x.new_empty(len(x), weight.shape[2]), 0
    for matrix, stop in zip(weight, stops.tolist(), strict=True):
        torch.mm(x[start:stop], matrix, out=out[start:stop])
        start = stop
    return out


@torch.library.custom_op("regard::grouped_outer", mutates_args=())
def grouped_outer(x: Tensor, y: Tensor, stops: Tensor) -> Tensor:
    """[N I], [N O] → [E I O]: the sum of outer products within each group."""
    out, start = x.new_empty(len(stops), x.shape[1], y.shape[1]), 0
    for matrix, stop in zip(out, stops.tolist(), strict=True):
        torch.mm(x[start:stop].T, y[start:stop], out=matrix)
        start = stop
    return out


@grouped.register_fake
def _(x: Tensor, weight: Tensor, stops: Tensor) -> Tensor:  # noqa: ARG001
    return x.new_empty(len(x), weight.shape[2])


@grouped_outer.register_fake
def _(x: Tensor, y: Tensor, stops: Tensor) -> Tensor:
    return x.new_empty(len(stops), x.shape[1], y.shape[1])


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:  # noqa: ARG001
    ctx.save_for_backward(*inputs)


def _back(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
    x, weight, stops = ctx.saved_tensors
    return grouped(grad, weight.mT, stops), grouped_outer(x, grad, stops), None


grouped.register_autograd(_back, setup_context=_keep)
