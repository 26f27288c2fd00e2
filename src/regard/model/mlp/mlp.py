"""Two products with a non-linear function in between."""

from abc import ABC, abstractmethod
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.dropout import dropped
from regard.model.mechanism import Mechanism
from regard.model.mlp.lean import Activation, activate, project_down
from regard.model.options import Bias, Dropout, GatedHidden, Hidden

ACTIVATIONS: dict[str, Activation] = {"none": "gelu", "tanh": "gelu_tanh"}


class Mlp(Mechanism, ABC):
    """Works on each vector alone."""

    @abstractmethod
    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Every vector anew."""


class Relu(Mlp):
    """The feed-forward network of the first Transformer.

    max(0, xW_1 + b_1) W_2 + b_2, four times as wide inside [N2:281-284; Vaswani et al. 2017]
    """

    def __init__(self, width: int, *, hidden: Hidden = 0, bias: Bias = True, dropout: Dropout = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.up = nn.Linear(width, hidden or 4 * width, bias)
        self.down = nn.Linear(hidden or 4 * width, width, bias)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        out: Tensor = self.down(dropped(F.relu(self.up(x)), self.dropout, self.training))
        return out

    def ends(self) -> list[Tensor]:
        return [self.down.weight]


class Gelu(Mlp):
    """The feed-forward network with a smooth activation.

    GELU(xW_1 + b_1) W_2 + b_2; GPT-2 takes the `tanh` approximation [Hendrycks & Gimpel 2016]
    """

    def __init__(
        self,
        width: int,
        *,
        hidden: Hidden = 0,
        bias: Bias = True,
        dropout: Dropout = 0.0,
        approximate: Annotated[
            Literal["none", "tanh"], Doc("How GELU is computed: exactly, or by the formula with tanh that GPT-2 uses.")
        ] = "none",
    ) -> None:
        super().__init__()
        self.dropout, self.activation = dropout, ACTIVATIONS[approximate]
        self.up = nn.Linear(width, hidden or 4 * width, bias)
        self.down = nn.Linear(hidden or 4 * width, width, bias)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return _down(self.up(x), self.down, self.activation, self.dropout if self.training else 0.0)

    def ends(self) -> list[Tensor]:
        return [self.down.weight]


class Swiglu(Mlp):
    """A gate decides what passes: three products, two thirds as wide for equal size.

    (Swish(xW) ⊙ xV) W_2 [N3:164; Shazeer 2020]
    """

    def __init__(self, width: int, *, hidden: GatedHidden = 0, bias: Bias = False, dropout: Dropout = 0.0) -> None:
        super().__init__()
        hidden = hidden or thirds(width)
        self.dropout = dropout
        self.gate_up = nn.Linear(width, 2 * hidden, bias)
        self.down = nn.Linear(hidden, width, bias)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return _down(self.gate_up(x), self.down, "swiglu", self.dropout if self.training else 0.0)

    def ends(self) -> list[Tensor]:
        return [self.down.weight]


def _down(
    inner: Float[Tensor, "B T I"], linear: nn.Module, activation: Activation, dropout: float
) -> Float[Tensor, "B T D"]:
    if dropout or not torch.is_grad_enabled() or not isinstance(linear, nn.Linear):  # in eight bits nothing is learnt
        out: Tensor = linear(dropped(activate(inner, activation), dropout, True))
        return out
    return project_down(inner, linear.weight, linear.bias, activation)


def thirds(width: int) -> int:
    """8/3 of the width, to a multiple of 8: as many weights as a plain MLP of 4 widths."""
    return -(-8 * width // 24) * 8
