"""Fused attention: both products at once, tile by tile; no n×n matrix [N3:137, N1:100]."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.attention.kernels.short import is_short, short
from regard.model.attention.view import View
from regard.model.precision import HALF, rounded_to

BASE = 256  # whole numbers up to here are exact in every type, times any power of two too


def flash(
    asked: Float[Tensor, "B H T K"],
    keys: Float[Tensor, "B G S K"],
    values: Float[Tensor, "B G S C"],
    view: View,
    scale: float,
    dropout: float = 0.0,
) -> Float[Tensor, "B H T C"]:
    """torch's fused attention, told as much of the structure as it can use."""
    mask = view.mask
    if mask.pads_last and view.at is None and mask.window is None:
        if view.slopes is None:
            return fused(asked, keys, values, scale=scale, dropout=dropout, causal=True)
        asked, keys, slanted = _with_distance(asked, keys, values, view.slopes, scale)
        return fused(asked, keys, slanted, scale=scale, dropout=dropout, causal=True)[..., : values.shape[-1]]
    return fused(asked, keys, values, _additive(asked, keys, view), scale=scale, dropout=dropout)


def fused(
    asked: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    *,
    scale: float,
    dropout: float,
    causal: bool = False,
) -> Tensor:
    """torch's fused attention, or what is faster for short rows; with fewer keys than queries, heads share them."""
    if mask is None and not causal and not dropout and is_short(asked, keys, values):
        return short(asked, keys, values, scale)
    return F.scaled_dot_product_attention(
        asked, keys, values, mask, dropout, causal, scale=scale, enable_gqa=asked.shape[1] != keys.shape[1]
    )


def _additive(asked: Tensor, keys: Tensor, view: View) -> Tensor | None:
    """A mask for the fused kernel: none, one row for all queries, or, for want of better, dense."""
    mask, queries, length = view.mask, asked.shape[2], keys.shape[2]
    if view.chosen is not None and view.slopes is None:
        return view.chosen
    single = queries == 1 and view.at is not None  # one step after a memory that kept only what it may see
    queries_at, keys_at = view.standing(queries, length, asked.device)
    visible = view.chosen
    if visible is not None:
        pass
    elif mask.segments is not None or ((mask.causal or mask.window is not None) and not single):
        visible = mask.dense(queries_at, keys_at)
    elif view.ragged:
        visible = (keys_at >= 0)[:, None, None]
    elif mask.key_lengths is not None:
        visible = (keys_at < mask.key_lengths[:, None])[:, None, None]
    bias = view.bias(queries_at, keys_at, asked)
    if bias is None or visible is None:
        return visible if bias is None else bias
    return bias.masked_fill(~visible, float("-inf"))


def _with_distance(
    asked: Tensor, keys: Tensor, values: Tensor, slopes: Tensor, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """-m(i - j) as one more dimension of queries and keys, or a few: the softmax cannot see the -m·i."""
    length = keys.shape[2]
    at, slope = torch.arange(length, device=keys.device) - length // 2, slopes.to(asked.device)
    if rounded_to(asked) in HALF:
        places, units = _figures(at, length)
        slope = slope[:, None] / scale * units.to(slope)
    else:
        places, slope = (at.to(keys) / scale)[:, None], slope[:, None]
    more = places.shape[1]
    slope = slope.to(asked)[:, None].expand(*asked.shape[:3], more)
    places = places.to(keys).expand(*keys.shape[:3], more)
    return torch.cat([asked, slope], -1), torch.cat([keys, places], -1), F.pad(values, (0, more))


def _figures(at: Int[Tensor, "S"], length: int) -> tuple[Float[Tensor, "S n"], Int[Tensor, "n"]]:
    """Numbers for which half precision has no number, as sums of some for which it has; their units are on top."""
    parts, units, step = [], [1], BASE
    while step < length:
        parts.append(at.remainder(step))
        at, step = at - parts[-1], step * BASE
        units.append(max(1, step // BASE**3))
    parts.append(at)
    return torch.stack([part / unit for part, unit in zip(parts, units, strict=True)], -1), torch.tensor(units)
