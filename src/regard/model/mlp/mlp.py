"""Two products with a bend in between."""

from abc import ABC, abstractmethod
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.dropout import dropped
from regard.model.mlp.lean import Bend, bent, fall
from regard.recipe import Number, Share

BENDS: dict[str, Bend] = {"none": "gelu", "tanh": "gelu_tanh"}


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
        out: Tensor = self.fall(dropped(F.relu(self.rise(x)), self.dropout, self.training))
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
        self.dropout, self.bend = dropout, BENDS[approximate]
        self.rise = nn.Linear(width, hidden or 4 * width, bias)
        self.fall = nn.Linear(hidden or 4 * width, width, bias)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return _down(self.rise(x), self.fall, self.bend, self.dropout if self.training else 0.0)


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
        return _down(self.rise(x), self.fall, "swiglu", self.dropout if self.training else 0.0)


def _down(inner: Float[Tensor, "B T I"], linear: nn.Linear, bend: Bend, dropout: float) -> Float[Tensor, "B T D"]:
    if dropout or not torch.is_grad_enabled():
        out: Tensor = linear(dropped(bent(inner, bend), dropout, True))
        return out
    return fall(inner, linear.weight, linear.bias, bend)


def thirds(width: int) -> int:
    """8/3 of the width, to a multiple of 8: as many weights as a plain MLP of 4 widths."""
    return -(-8 * width // 24) * 8
