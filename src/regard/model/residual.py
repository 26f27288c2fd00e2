"""Residual connections: y = x + F(x), and where the norm stands [N0:41-50, N2:641-651]."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated

from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, full, nn

from regard.model.dropout import dropped, dropped_rows
from regard.model.norms import Norm

Sublayer = Callable[[Float[Tensor, "B T D"]], Float[Tensor, "B T D"]]


class Residual(nn.Module, ABC):
    """What is put around every sub-layer. Some let all sub-layers add to one stream (`adds`)."""

    adds = False

    def __init__(self, norm: Norm, dropout: float) -> None:
        super().__init__()
        self.norm, self.dropout = norm, dropout
        self.skipped = 0.0
        self.scale: nn.Parameter | None = None

    def skip(self, share: float) -> None:
        """While training, leave the sub-layer out for this share of the rows: stochastic depth."""
        self.skipped = share

    def rescale(self, width: int, first: float) -> None:
        """Multiply what is added by a learned number for each of the width, which all begin small: layer scale."""
        self.scale = nn.Parameter(full((width,), first))

    def drop(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """What of a sub-layer's output is added."""
        x = dropped(x, self.dropout, self.training)
        x = x if self.scale is None else x * self.scale
        return dropped_rows(x, self.skipped, self.training)

    def seen(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"] | None:
        """What a sub-layer is given of x, where that can be told of each position alone."""
        return None

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

    def seen(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"] | None:
        inside: Tensor = self.norm(x)
        return inside

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

    def seen(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"] | None:
        return x

    def closing(self) -> nn.Module:
        return self.norm if self.closes else nn.Identity()


class NoResidual(Residual):
    """No way around: norm(F(x)). To see what residuals are good for [N0:41-50]."""

    def skip(self, share: float) -> None:
        if share:
            raise ValueError(
                "stochastic_depth: without a way around no layer can be left out; choose residual pre or post"
            )

    def forward(self, x: Float[Tensor, "B T D"], sublayer: Sublayer) -> Float[Tensor, "B T D"]:
        out: Tensor = self.norm(self.drop(sublayer(x)))
        return out

    def seen(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"] | None:
        return x

    def closing(self) -> nn.Module:
        return nn.Identity()
