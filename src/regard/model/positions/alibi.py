"""A penalty on distance."""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.model.positions.positions import Positions


class Alibi(Positions):
    """Scores lose a fixed amount for every step of distance, each head at its own rate.

    q·k - m_h |i - j|, m_h = 2^(-8h/H) for h = 1…H where H is a power of two; else those of the power P below, and
    every other one of those of 2P for the heads that are left [Press et al. 2022].
    """

    moment = "bias"

    def __init__(self, width: int) -> None:
        super().__init__()
        self._made: dict[int, Tensor] = {}  # not anew for every layer and step

    def slopes(self, heads: int) -> Float[Tensor, "H"] | None:
        if heads not in self._made:
            power = 1 << (heads.bit_length() - 1)
            with torch.inference_mode(False):  # or what was first made in use could not be trained with
                self._made[heads] = torch.cat([_slopes(power), _slopes(2 * power)[: 2 * (heads - power) : 2]])
        return self._made[heads]


def _slopes(heads: int) -> Float[Tensor, "H"]:
    return 2.0 ** (-8.0 * torch.arange(1, heads + 1, dtype=torch.float32) / heads)
