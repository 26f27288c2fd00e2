"""A penalty on distance."""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.model.positions.positions import Positions


class Alibi(Positions):
    """Scores lose a fixed amount for every step of distance, each head at its own rate.

    q·k - m_h |i - j|, m_h = 2^(-8h/H) for h = 1…H [Press et al. 2022]
    """

    moment = "bias"

    def __init__(self, width: int) -> None:
        super().__init__()

    def slopes(self, heads: int) -> Float[Tensor, "H"] | None:
        return 2.0 ** (-8.0 * torch.arange(1, heads + 1, dtype=torch.float32) / heads)
