"""Feature maps: what linear attention puts in the place of the softmax."""

from abc import ABC, abstractmethod
from typing import Annotated

import torch
import torch.nn.functional as F
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.mechanism import Mechanism
from regard.model.precision import as_it_is
from regard.recipe import Count

LEAST, MOST = -60.0, 40.0  # exponents of keys: their sums over any row, and one over these, are numbers of float32


class FeatureMap(Mechanism, ABC):
    """φ: from vectors of a head to positive features, so that φ(q)·φ(k) is a weight."""

    @abstractmethod
    def keys(self, x: Float[Tensor, "B H S K"]) -> Float[Tensor, "B H S F"]:
        """φ(k), the same wherever and whenever a key stands: what is summed up goes on from step to step."""

    def queries(self, x: Float[Tensor, "B H T K"]) -> Float[Tensor, "B H T F"]:
        """φ(q), up to a factor for each query: weights are shares, so it cancels."""
        return self.keys(x)


class EluMap(FeatureMap):
    """One more than the exponential linear unit: simple and smooth, and no softmax at all.

    φ(x) = elu(x) + 1 [N0:108-116, trap T14; Katharopoulos et al. 2020]
    """

    def __init__(self, width: int) -> None:
        super().__init__()

    def keys(self, x: Float[Tensor, "B H S K"]) -> Float[Tensor, "B H S F"]:
        return F.elu(x) + 1


class ReluMap(FeatureMap):
    """What is positive, and a little more, so that no query is left without a key.

    φ(x) = max(x, 0) + 0.001 [N0:108-116; Choromanski et al. 2021]
    """

    def __init__(self, width: int) -> None:
        super().__init__()

    def keys(self, x: Float[Tensor, "B H S K"]) -> Float[Tensor, "B H S F"]:
        return F.relu(x) + 1e-3


class SoftmaxMap(FeatureMap):
    """A softmax over the numbers of each vector, instead of one over all keys.

    φ(x) = softmax(x) [N0:108-116; Shen et al. 2021]
    """

    def __init__(self, width: int) -> None:
        super().__init__()

    def keys(self, x: Float[Tensor, "B H S K"]) -> Float[Tensor, "B H S F"]:
        return x.softmax(-1)


class RandomMap(FeatureMap):
    """Random features, which do approximate the softmax: the more of them, the closer.

    φ(x) = exp(Ωx/⁴√K - |x|²/2√K): the mean of φ(q)·φ(k) over normal Ω is exp(q·k/√K), and it is off by about
    1/√F. Directions are orthogonal by the K, their lengths those of normal vectors [trap T14; Choromanski et al. 2021].
    They are drawn with the first weights, never learnt, and saved with the others.
    """

    directions: Tensor

    def __init__(
        self,
        width: int,
        *,
        features: Annotated[
            Count, Doc("Number of random features of a head: the error falls with its root, time and memory grow.")
        ] = 256,
    ) -> None:
        super().__init__()
        self.register_buffer("directions", _directions(features, width))

    def keys(self, x: Float[Tensor, "B H S K"]) -> Float[Tensor, "B H S F"]:
        along, size = self._along(x)
        return (along - size).clamp(LEAST, MOST).exp()

    def queries(self, x: Float[Tensor, "B H T K"]) -> Float[Tensor, "B H T F"]:
        along, _ = self._along(x)
        return (along - along.detach().amax(-1, keepdim=True)).clamp(min=LEAST / 2).exp()

    def _along(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """How far each vector reaches along every direction, and half its square."""
        x = x * x.shape[-1] ** -0.25
        with as_it_is(x.device):
            return x @ self.directions.to(x.dtype).mT, x.square().sum(-1, keepdim=True) / 2


@torch.no_grad()
def _directions(count: int, width: int) -> Float[Tensor, "F K"]:
    """Rows of the lengths that normal vectors have; each block of K of them is orthogonal."""
    drawn = torch.empty(-(-count // width), width, width)
    if drawn.is_meta:
        return torch.empty(count, width)
    even, signs = torch.linalg.qr(nn.init.normal_(drawn))
    even = even * signs.diagonal(dim1=-2, dim2=-1).sign()[:, None]  # else some directions were likelier than others
    lengths = nn.init.normal_(drawn).norm(dim=-1, keepdim=True)
    rows: Tensor = (even * lengths).flatten(0, 1)[:count].clone()
    return rows
