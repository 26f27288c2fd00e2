"""Residual connections: y = x + F(x), and where the norm stands [N0:41-50, N2:641-651]."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated

from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.dropout import dropped
from regard.model.norms import Norm

Sublayer = Callable[[Float[Tensor, "B T D"]], Float[Tensor, "B T D"]]


class Residual(nn.Module, ABC):
    """What is put around every sub-layer. Some let all sub-layers add to one stream (`adds`)."""

    adds = False

    def __init__(self, norm: Norm, dropout: float) -> None:
        super().__init__()
        self.norm, self.dropout = norm, dropout

    def drop(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return dropped(x, self.dropout, self.training)

    @abstractmethod
    def forward(self, x: Float[Tensor, "B T D"], sublayer: Sublayer) -> Float[Tensor, "B T D"]:
        """What comes out of a sub-layer and the way around it."""

    @abstractmethod
    def closing(self) -> nn.Module:
        """What the stack ends with."""


class Pre(Residual):
    """The norm stands inside: x + F(norm(x)). A block of zeros is the identity [N3:162]."""

    adds = True

    def forward(self, x: Float[Tensor, "B T D"], sublayer: Sublayer) -> Float[Tensor, "B T D"]:
        return x + self.drop(sublayer(self.norm(x)))

    def closing(self) -> nn.Module:
        return self.norm


class Post(Residual):
    """The norm stands after the sum: norm(x + F(x)), as in the first Transformer [N2:641-645]."""

    def __init__(
        self,
        norm: Norm,
        dropout: float,
        *,
        closing_norm: Annotated[
            bool, Doc("Whether the stack ends with one norm more, as in torch's nn.Transformer.")
        ] = False,
    ) -> None:
        super().__init__(norm, dropout)
        self.closes = closing_norm

    def forward(self, x: Float[Tensor, "B T D"], sublayer: Sublayer) -> Float[Tensor, "B T D"]:
        out: Tensor = self.norm(x + self.drop(sublayer(x)))
        return out

    def closing(self) -> nn.Module:
        return self.norm if self.closes else nn.Identity()


class NoResidual(Residual):
    """No way around: norm(F(x)). To see what residuals are good for [N0:41-50]."""

    def forward(self, x: Float[Tensor, "B T D"], sublayer: Sublayer) -> Float[Tensor, "B T D"]:
        out: Tensor = self.norm(self.drop(sublayer(x)))
        return out

    def closing(self) -> nn.Module:
        return nn.Identity()
