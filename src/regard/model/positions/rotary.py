"""Rotation by position."""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.model.options import Base
from regard.model.positions.positions import Positions, Where
from regard.model.positions.sinusoidal import SPAN, frequencies
from regard.model.precision import wide


class Rotary(Positions):
    """Each pair of a query or key is turned by an angle that grows with its position.

    z_i · e^(i θ_i p), θ_i = base^(-2i/K): the product of a query and a key then depends on
    their distance alone [N0:141-151; Su et al. 2021]. Values and embeddings are left alone.
    """

    moment = "rotate"

    def __init__(self, width: int, *, base: Base = 10000.0) -> None:
        super().__init__()
        if width % 2:
            raise ValueError(f"rotary turns pairs, and width {width} has an odd one out; choose an even width")
        self.base = base
        self._turns: dict[tuple[int, torch.device, torch.dtype], Tensor] = {}

    def check_head(self, width: int) -> None:
        if width % 2:
            raise ValueError(
                f"heads: rotary turns pairs, and a head {width} wide has an odd one out; choose fewer heads"
            )

    def rotate(self, x: Float[Tensor, "B H T K"], where: Where) -> Float[Tensor, "B H T K"]:
        whole = wide(x)
        turns = where.pick(self.table(x.shape[-1], where.stop, whole))
        turns = turns[:, None] if where.within is not None else turns
        pairs = torch.view_as_complex(whole.unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * turns).flatten(-2).to(x.dtype)

    def table(self, width: int, needed: int, like: Tensor) -> Tensor:
        """e^(i θ p) for all positions so far, grown by doubling; never in half precision."""
        device, key = like.device, (width, like.device, like.dtype)
        table = self._turns.get(key)
        if table is None or needed > len(table):
            with torch.inference_mode(False):  # or a table first made in use could not be trained with
                span = torch.arange(max(needed, SPAN if table is None else 2 * len(table)), device=device)
                angles = torch.outer(span.double(), frequencies(width, self.base).to(device))
                table = torch.polar(torch.ones_like(angles), angles).to(like.dtype.to_complex())
            self._turns[key] = table  # another thread may put a shorter one here: this one is handed on
        return table
