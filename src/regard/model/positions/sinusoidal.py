"""Sines and cosines."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.options import Base
from regard.model.positions.grid import Grid
from regard.model.positions.positions import Positions, Where

SPAN = 512  # positions to begin with: tables that seldom grow can be compiled


def frequencies(width: int, base: float = 10000.0) -> Float[Tensor, "half"]:
    """base^(-2i/d) for every pair i: the lowest pair turns fastest (trap T6)."""
    return base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)


def encode(at: Int[Tensor, "*B T"], width: int, base: float = 10000.0) -> Float[Tensor, "*B T D"]:
    """PE(pos, 2i) = sin(pos / base^(2i/d)), PE(pos, 2i+1) = cos(…)."""
    angles = at.double()[..., None] * frequencies(width, base).to(at.device)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)[..., :width].float()


def encode_grid(grid: Grid, width: int, base: float, device: torch.device) -> Float[Tensor, "T D"]:
    """Half of the numbers are waves along the rows, the others along the columns; who stands nowhere has zeros."""
    rows, columns = grid.places(device)
    waves = torch.cat([encode(rows, width - width // 2, base), encode(columns, width // 2, base)], -1)
    waves[: grid.extra] = 0
    return waves


class Sinusoidal(Positions):
    """Waves of many lengths, added to the embeddings; no parameters, any length.

    PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d))
    [N0:129, N2:836-871; Vaswani et al. 2017]. Patches of an image: half of the numbers tell the row, half the column
    [Chen et al. 2021, MoCo v3].
    """

    moment = "embed"

    def __init__(self, width: int, *, base: Base = 10000.0) -> None:
        super().__init__()
        self.width, self.base = width, base
        self.register_buffer("table", torch.empty(0, width), persistent=False)
        self.table: Tensor

    def embed(self, x: Float[Tensor, "B T D"], where: Where) -> Float[Tensor, "B T D"]:
        return x + where.pick(self.waves(where.stop, x.device)).to(x.dtype)

    def waves(self, needed: int, device: torch.device) -> Float[Tensor, "T D"]:
        """The waves of at least so many positions."""
        table = self.table  # looked up once: another thread may put a shorter one there
        if needed > len(table):  # grow by doubling, so that decoding seldom pays
            with torch.inference_mode(False):  # or a table first made in use could not be trained with
                table = self._waves(max(needed, 2 * len(table), SPAN), device)
            self.table = table
        return table

    def _waves(self, needed: int, device: torch.device) -> Float[Tensor, "T D"]:
        if self.grid is not None:
            return encode_grid(self.grid, self.width, self.base, device)
        return encode(torch.arange(needed, device=device), self.width, self.base)
