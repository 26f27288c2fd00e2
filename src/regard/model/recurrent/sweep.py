"""Running a cell over rows of different lengths, without a step on padding."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.recurrent.cells import Cell
from regard.model.stack import State


def sweep(
    cell: Cell, x: Float[Tensor, "B T I"], lengths: Int[Tensor, "B"] | None, state: State | None = None
) -> tuple[Float[Tensor, "B T H"], State]:
    """Outputs (zeros past each length) and the state after each row's last real step.

    Rows are sorted by length, and the fused kernel runs from one distinct length to the next with
    the rows that are still going: batches bucketed by length have few of them.
    """
    state = cell.zero(x) if state is None else state
    if lengths is None:
        return cell.run(x, state)
    order = lengths.argsort(descending=True)
    sizes = lengths[order]
    x, state = x[order], tuple(part[order] for part in state)
    outs, start = [], 0
    for stop in sizes.unique().tolist():
        rows = int((sizes >= stop).sum())
        if stop == 0:
            continue
        out, going = cell.run(x[:rows, start:stop], tuple(part[:rows] for part in state))
        state = tuple(torch.cat([new, old[rows:]]) for new, old in zip(going, state, strict=True))
        outs.append(F.pad(out, (0, 0, 0, 0, 0, len(x) - rows)))
        start = stop
    outs.append(x.new_zeros(len(x), x.shape[1] - start, cell.width))
    back = order.argsort()
    return torch.cat(outs, 1)[back], tuple(part[back] for part in state)


def turned(x: Float[Tensor, "B T I"], lengths: Int[Tensor, "B"] | None) -> Float[Tensor, "B T I"]:
    """Every row backwards, its padding left at the end."""
    if lengths is None:
        return x.flip(1)
    index = torch.arange(x.shape[1], device=x.device)
    index = torch.where(index < lengths[:, None], lengths[:, None] - 1 - index, index)
    return x.gather(1, index[..., None].expand_as(x))
