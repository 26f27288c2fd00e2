"""Two products with a bend in between."""

from abc import ABC, abstractmethod
from typing import Literal

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.recipe import Number, Share


class Mlp(nn.Module, ABC):
    """Works on each vector alone."""

    @abstractmethod
    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]: ...


class Relu(Mlp):
    """The feed-forward network of the first Transformer.

    max(0, xW_1 + b_1) W_2 + b_2, four times as wide inside [N2:281-284; Vaswani et al. 2017]
    """

    def __init__(self, width: int, *, hidden: Number = 0, bias: bool = True, dropout: Share = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.rise = nn.Linear(width, hidden or 4 * width, bias)
        self.fall = nn.Linear(hidden or 4 * width, width, bias)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        out: Tensor = self.fall(F.dropout(F.relu(self.rise(x)), self.dropout, self.training))
        return out


class Gelu(Mlp):
    """The same with a smooth bend.

    GELU(xW_1 + b_1) W_2 + b_2; GPT-2 takes the `tanh` approximation [Hendrycks & Gimpel 2016]
    """

    def __init__(
        self,
        width: int,
        *,
        hidden: Number = 0,
        bias: bool = True,
        dropout: Share = 0.0,
        approximate: Literal["none", "tanh"] = "none",
    ) -> None:
        super().__init__()
        self.dropout, self.approximate = dropout, approximate
        self.rise = nn.Linear(width, hidden or 4 * width, bias)
        self.fall = nn.Linear(hidden or 4 * width, width, bias)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        inner = F.gelu(self.rise(x), approximate=self.approximate)
        out: Tensor = self.fall(F.dropout(inner, self.dropout, self.training))
        return out


class Swiglu(Mlp):
    """A gate decides what passes: three products, two thirds as wide for equal size.

    (Swish(xW) ⊙ xV) W_2 [N3:164; Shazeer 2020]
    """

    def __init__(self, width: int, *, hidden: Number = 0, bias: bool = False, dropout: Share = 0.0) -> None:
        super().__init__()
        hidden = hidden or thirds(width)
        self.dropout = dropout
        self.rise = nn.Linear(width, 2 * hidden, bias)
        self.fall = nn.Linear(hidden, width, bias)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        gate, value = self.rise(x).chunk(2, -1)
        out: Tensor = self.fall(F.dropout(F.silu(gate) * value, self.dropout, self.training))
        return out


def thirds(width: int) -> int:
    """8/3 of the width, to a multiple of 8: as many weights as a plain MLP of 4 widths."""
    return -(-8 * width // 24) * 8
