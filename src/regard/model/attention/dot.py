"""Luong's dot score."""

from jaxtyping import Float
from torch import Tensor

from regard.model.attention.attention import Attention, Site
from regard.model.attention.kernels import Kernel, attend, weights
from regard.model.attention.view import View


class Dot(Attention):
    """The plainest comparison: the dot product of query and key, with nothing to learn.

    α = softmax(h_i · h_j), c_i = Σ_j α_ij h_j [N4:83-89; Luong et al. 2015]
    """

    def __init__(self, site: Site, *, kernel: Kernel = "auto") -> None:
        super().__init__(site)
        if self.data_width != site.width:
            raise ValueError(
                f"dot: queries have width {site.width}, data {self.data_width}; `general` joins unequal widths"
            )
        self.kernel = kernel

    def ask(self, queries: Float[Tensor, "B T D"]) -> Float[Tensor, "B 1 T D"]:
        return queries[:, None]

    def read(self, data: Float[Tensor, "B S D"]) -> tuple[Float[Tensor, "B 1 S D"], Float[Tensor, "B 1 S D"]]:
        return data[:, None], data[:, None]

    def weigh(self, asked: Tensor, keys: Tensor, view: View, rows: slice) -> Float[Tensor, "B 1 t S"]:
        return weights(asked, keys, view, 1.0, rows)

    def mix(self, asked: Tensor, keys: Tensor, values: Tensor, view: View) -> Float[Tensor, "B 1 T D"]:
        return attend(asked, keys, values, view, scale=1.0, kernel=self.kernel)
