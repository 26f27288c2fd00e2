"""Fused attention: both products at once, tile by tile; no n×n matrix [N3:137, N1:100]."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.model.attention.view import View


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
    """torch's fused attention; with fewer keys than queries, heads share them."""
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
    bias = view.bias(queries_at, keys_at)
    if bias is None or visible is None:
        return visible if bias is None else bias.to(asked)
    return bias.to(asked).masked_fill(~visible, float("-inf"))


def _with_distance(
    asked: Tensor, keys: Tensor, values: Tensor, slopes: Tensor, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """-m(i - j) as one more dimension of queries and keys: the softmax cannot see the -m·i."""
    at = torch.arange(keys.shape[2], device=keys.device).to(keys) - keys.shape[2] // 2
    slope = slopes.to(asked)[:, None, None].expand(*asked.shape[:3], 1)
    place = (at / scale)[:, None].expand(*keys.shape[:3], 1)
    return torch.cat([asked, slope], -1), torch.cat([keys, place], -1), F.pad(values, (0, 1))
