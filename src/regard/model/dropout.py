"""Dropout: of single numbers, and of whole rows."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

GRAINS = 2**16


def dropped(x: Float[Tensor, "*N"], share: int | float, training: bool) -> Float[Tensor, "*N"]:
    """Sets a share of the numbers to zero, and lifts the others so that the mean stays.

    On a CPU, where drawing chances one by one takes a seventh of a training step, every draw of
    64 bits serves four numbers; the share is then exact to 1 in 65,536. Compilers have a way of their own.
    """
    if not training or not share:
        return x
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return F.dropout(x, share)
    least = round(share * GRAINS)
    if least == GRAINS:
        return x * 0.0
    draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    kept = draws.view(torch.int16)[: x.numel()].view(x.shape) >= least - GRAINS // 2
    return x * kept.to(x.dtype).mul_(GRAINS / (GRAINS - least))


def dropped_rows(x: Float[Tensor, "B *N"], share: int | float, training: bool) -> Float[Tensor, "B *N"]:
    """Sets all numbers of some rows to zero, each row with this chance, and lifts the others so that the mean stays.

    Around which there is a way, that leaves a layer out: stochastic depth [Huang et al. 2016].
    """
    if not training or not share:
        return x
    kept = torch.rand(len(x), device=x.device) >= share
    return x * (kept / (1 - share)).to(x.dtype).view(-1, *[1] * (x.ndim - 1))
