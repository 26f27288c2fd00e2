"""The formula as it stands: similarity, scaling, softmax, weighted sum [N2:369-401]."""

from jaxtyping import Bool, Float
from torch import Tensor

from regard.model.attention.view import View
from regard.model.dropout import dropped

ALL = slice(None)


def weights(
    asked: Float[Tensor, "B H T K"], keys: Float[Tensor, "B G S K"], view: View, scale: float, rows: slice = ALL
) -> Float[Tensor, "B H t S"]:
    """softmax(scale · QKᵀ + mask + bias), or only some `rows` of it."""
    shared = asked.shape[1] // keys.shape[1]
    scores = asked[:, :, rows] @ keys.repeat_interleave(shared, 1).mT * scale
    return normalised(scores, asked.shape[2], view, rows)


def normalised(scores: Float[Tensor, "B H t S"], queries: int, view: View, rows: slice) -> Float[Tensor, "B H t S"]:
    """Softmax over what is visible: exact zeros elsewhere, and for rows that see nothing."""
    queries_at, keys_at = view.standing(queries, scores.shape[-1], scores.device)
    bias = view.bias(queries_at[..., rows], keys_at, scores)
    scores = scores if bias is None else scores + bias
    visible: Bool[Tensor, "#B 1 t S"] = view.visible(queries, scores.shape[-1], scores.device, rows)
    sighted = visible.any(-1, keepdim=True)
    scores = scores.masked_fill(~visible & sighted, float("-inf")).masked_fill(~sighted, 0.0)
    return scores.softmax(-1).masked_fill(~sighted, 0.0)


def mixed(
    weights: Float[Tensor, "B H T S"], values: Float[Tensor, "B G S C"], dropout: float = 0.0
) -> Float[Tensor, "B H T C"]:
    """Σ_j α_ij v_j."""
    return dropped(weights, dropout, True) @ values.repeat_interleave(weights.shape[1] // values.shape[1], 1)
