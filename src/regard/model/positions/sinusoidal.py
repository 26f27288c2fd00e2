"""Sines and cosines."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.options import Base
from regard.model.positions.positions import Positions, Where

SPAN = 512  # positions to begin with: tables that seldom grow can be compiled


def frequencies(width: int, base: float = 10000.0) -> Float[Tensor, "half"]:
    """base^(-2i/d) for every pair i: the lowest pair turns fastest (trap T6)."""
    return base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)


def encode(at: Int[Tensor, "*B T"], width: int, base: float = 10000.0) -> Float[Tensor, "*B T D"]:
    """PE(pos, 2i) = sin(pos / base^(2i/d)), PE(pos, 2i+1) = cos(…)."""
    angles = at.double()[..., None] * frequencies(width, base).to(at.device)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)[..., :width].float()


class Sinusoidal(Positions):
    """Waves of many lengths, added to the embeddings; no parameters, any length.

    PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d))
    [N0:129, N2:836-871; Vaswani et al. 2017]
    """

    moment = "embed"

    def __init__(self, width: int, *, base: Base = 10000.0) -> None:
        super().__init__()
        self.width, self.base = width, base
        self.register_buffer("table", torch.empty(0, width), persistent=False)
        self.table: Tensor

    def embed(self, x: Float[Tensor, "B T D"], where: Where) -> Float[Tensor, "B T D"]:
        table = self.table  # looked up once: another thread may put a shorter one there
        if where.stop > len(table):  # grow by doubling, so that decoding seldom pays
            with torch.inference_mode(False):  # or a table first made in use could not be trained with
                span = torch.arange(max(where.stop, 2 * len(table), SPAN), device=x.device)
                table = encode(span, self.width, self.base)
            self.table = table
        return x + where.pick(table).to(x.dtype)
