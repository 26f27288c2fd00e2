"""Causal linear attention chunk by chunk: the running sum of φ(k)vᵀ, never an n×n matrix."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.model.attention.kernels.lean_running import Running
from regard.model.precision import is_rounded

CHUNK = 64


def running(
    asked: Float[Tensor, "B H T F"],
    keys: Float[Tensor, "B H T F"],
    values: Float[Tensor, "B H T C"],
    sums: Float[Tensor, "B H F C"] | None = None,
    totals: Float[Tensor, "B H F"] | None = None,
) -> tuple[Float[Tensor, "B H T C"], Float[Tensor, "B H T"], Float[Tensor, "B H F C"], Float[Tensor, "B H F"]]:
    """Σ_{j≤i} (φq_i·φk_j) v_j and Σ_{j≤i} φq_i·φk_j, going on from earlier sums.

    Within a chunk the small triangle of products; across chunks what all earlier ones left.
    """
    length = asked.shape[2]
    chunk = min(CHUNK, length)
    asked, keys, values = (_cut(tensor, chunk) for tensor in (asked, keys, values))
    if _lean(asked):
        first = asked.new_zeros(*keys.shape[:2], keys.shape[4], values.shape[4]) if sums is None else sums
        first_total = asked.new_zeros(first.shape[:3]) if totals is None else totals
        mixed, norm, *state = Running.apply(asked, keys, values, first, first_total)  # type: ignore[no-untyped-call]
        return mixed.flatten(2, 3)[:, :, :length], norm.flatten(2, 3)[:, :, :length], state[0], state[1]
    local = (asked @ keys.mT).tril()  # B H N c c
    each, each_total = keys.mT @ values, keys.sum(-2)  # B H N F C, B H N F
    before, before_total = _earlier(each, sums), _earlier(each_total, totals)
    mixed = local @ values + asked @ before
    norm = local.sum(-1) + (asked @ before_total[..., None]).squeeze(-1)
    after, after_total = before[:, :, -1] + each[:, :, -1], before_total[:, :, -1] + each_total[:, :, -1]
    return mixed.flatten(2, 3)[:, :, :length], norm.flatten(2, 3)[:, :, :length], after, after_total


def _earlier(each: Tensor, start: Tensor | None) -> Tensor:
    """What all chunks before each one left. Never by taking away: then the future would round the past."""
    first = torch.zeros_like(each[:, :, :1]) if start is None else start[:, :, None]
    return torch.cat([first, each[:, :, :-1]], 2).cumsum(2)


def _lean(asked: Tensor) -> bool:
    """Where there are several chunks, and nobody traces or rounds what happens: the same sums, less kept."""
    traced = torch.compiler.is_compiling() or is_rounded(asked.device)
    return not traced and asked.shape[2] > 1


def _cut(x: Tensor, chunk: int) -> Tensor:
    """[B H T F] → [B H N c F], zeros at the end: they add nothing to any sum."""
    rest = -x.shape[2] % chunk
    x = F.pad(x, (0, 0, 0, rest)) if rest else x
    return x.reshape(*x.shape[:2], -1, chunk, x.shape[3])
