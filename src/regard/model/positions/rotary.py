"""Rotation by position."""

import math
from typing import Annotated

import torch
from annotated_doc import Doc
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from regard.model.options import Base
from regard.model.positions.grid import Grid
from regard.model.positions.positions import Positions, Where
from regard.model.positions.sinusoidal import SPAN, frequencies
from regard.model.precision import wide
from regard.recipe import Number, Positive


class Rotary(Positions):
    """Each pair of a query or key is turned by an angle that grows with its position.

    z_i · e^(i θ_i p), θ_i = base^(-2i/K): the product of a query and a key then depends on
    their distance alone [N0:141-151; Su et al. 2021]. Values and embeddings are left alone.

    A model can read texts `stretch` times as long as it was trained for if pairs turn that much slower: all of them
    [Chen et al. 2023], or, with `trained`, the slow ones alone. A pair that turned at least `fast` times within the
    positions trained for is left as it is, one that turned `slow` times or less is slowed down, and those between in
    part [Llama 3.1]. In an image half of the pairs are turned by the row, half by the column [Heo et al. 2024].
    """

    moment = "rotate"

    def __init__(
        self,
        width: int,
        *,
        base: Base = 10000.0,
        stretch: Annotated[
            float,
            Field(ge=1e-3, le=1e6),
            Doc("How much slower pairs turn, for texts so many times as long; 1 is none."),
        ] = 1.0,
        trained: Annotated[
            Number, Doc("Positions trained for before stretching: only pairs that are slow in these are; 0 means all.")
        ] = 0,
        slow: Annotated[
            Positive, Doc("A pair that turns no more often in the positions trained for is stretched.")
        ] = 1.0,
        fast: Annotated[Positive, Doc("A pair that turns at least so often there is left as it is.")] = 4.0,
    ) -> None:
        super().__init__()
        if slow >= fast:
            raise ValueError(f"slow: {slow:g} turns are no fewer than the {fast:g} of fast; choose slow below fast")
        if width % 2:
            raise ValueError(f"rotary turns pairs, and width {width} has an odd one out; choose an even width")
        self.base, self.stretch, self.trained, self.slow, self.fast = base, stretch, trained, slow, fast
        self._narrowest = width
        self._turns: dict[tuple[int, torch.device, torch.dtype], Tensor] = {}

    def check_head(self, width: int) -> None:
        if width % 2:
            raise ValueError(
                f"heads: rotary turns pairs, and a head {width} wide has an odd one out; choose fewer heads"
            )
        self._narrowest = min(width, self._narrowest)

    def lay_out(self, grid: Grid) -> None:
        if self._narrowest < 4:
            raise ValueError(
                "heads: in an image rotary turns one pair by the row, one by the column; choose fewer heads"
            )
        super().lay_out(grid)

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
                angles = self._angles(width, max(needed, SPAN if table is None else 2 * len(table)), device)
                table = torch.polar(torch.ones_like(angles), angles).to(like.dtype.to_complex())
            self._turns[key] = table  # another thread may put a shorter one here: this one is handed on
        return table

    def _angles(self, width: int, needed: int, device: torch.device) -> Float[Tensor, "T half"]:
        """How far each pair is turned at each position; in an image some by the row, the others by the column."""
        if self.grid is None:
            ways = [(torch.arange(needed, device=device), width)]
        else:
            across = 2 * (width // 4)
            ways = list(zip(self.grid.places(device), (width - across, across), strict=True))
        return torch.cat([torch.outer(at.double(), self._frequencies(some).to(device)) for at, some in ways], 1)

    def _frequencies(self, width: int) -> Float[Tensor, "half"]:
        """How far each pair turns from one position to the next."""
        plain = frequencies(width, self.base)
        if self.stretch == 1:
            return plain
        turns = self.trained * plain / (2 * math.pi)
        kept = ((turns - self.slow) / (self.fast - self.slow)).clamp(0, 1)
        return kept * plain + (1 - kept) * plain / self.stretch
