"""Norms: bring every vector to one scale, each on its own [N3:145, N3:163]."""

from abc import ABC, abstractmethod
from typing import Annotated

import torch.nn.functional as F
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn, ones, zeros

from regard.model.options import Eps


class Norm(nn.Module, ABC):
    """Works on each vector alone."""

    @abstractmethod
    def forward(self, x: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows D"]:
        """Every vector at one scale."""


class LayerNorm(Norm):
    """LayerNorm: zero mean, unit variance, then a learned scale and shift.

    (x - mean) / sqrt(var + eps) * g + b [N2:641-645; Ba et al. 2016]
    """

    def __init__(
        self,
        width: int,
        *,
        eps: Eps = 1e-5,
        bias: Annotated[bool, Doc("Whether a learned vector is added after scaling, and not only multiplied.")] = True,
    ) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(ones(width))
        self.bias = nn.Parameter(zeros(width)) if bias else None

    def forward(self, x: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows D"]:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class RmsNorm(Norm):
    """RMSNorm: only the length is normalised, no mean is taken away.

    x * g / sqrt(mean(x²) + eps) [N3:163; Zhang & Sennrich 2019]
    """

    def __init__(self, width: int, *, eps: Eps = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(ones(width))

    def forward(self, x: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows D"]:
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)
