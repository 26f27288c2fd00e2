"""How softmax attention is computed: the same numbers at other costs.

naive    the formula, with every weight written down: time and memory O(n²)
flash    torch's fused attention: exact, tiled, no n×n matrix; windows block by block: O(n·w)
"""

from typing import Annotated, Literal

from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor

from regard.model.attention.kernels.flash import flash
from regard.model.attention.kernels.naive import mixed, weights
from regard.model.attention.kernels.segments import Packed, blank
from regard.model.attention.kernels.window import window
from regard.model.attention.view import View

Kernel = Annotated[
    Literal["auto", "naive", "flash"],
    Doc("How it is computed, to the same numbers: naive forms all scores, flash never does, auto takes the fastest."),
]


def attend(
    asked: Float[Tensor, "B H T K"],
    keys: Float[Tensor, "B G S K"],
    values: Float[Tensor, "B G S C"],
    view: View,
    *,
    scale: float,
    kernel: Kernel = "auto",
    dropout: float = 0.0,
) -> Float[Tensor, "B H T C"]:
    """softmax(scale · QKᵀ + mask + bias) V by the chosen kernel."""
    mask = view.mask
    if kernel == "naive":
        return mixed(weights(asked, keys, view, scale), values, dropout)
    if mask.segments is not None:
        packed = Packed(mask)
        rows = [packed.unpack(tensor) for tensor in (asked, keys, values)]
        out = attend(rows[0], rows[1], rows[2], view.through(packed.mask), scale=scale, dropout=dropout)
        out = packed.pack(out)
    elif mask.window is not None and view.at is None:
        out = window(asked, keys, values, view, scale, dropout)
    else:
        out = flash(asked, keys, values, view, scale, dropout)
    return blank(out, mask.query_lengths)


__all__ = ["Kernel", "Packed", "attend", "blank", "mixed", "weights"]
