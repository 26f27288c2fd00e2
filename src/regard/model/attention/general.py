"""Luong's general score."""

from jaxtyping import Float
from torch import Tensor, nn

from regard.model.attention.attention import Attention, Site
from regard.model.attention.kernels import Kernel, attend, weights
from regard.model.attention.view import View


class General(Attention):
    """A learned matrix stands between query and key.

    w = softmax(h_t W_a Kᵀ), c = w V [N2:134-159, N2:240-246; Luong et al. 2015]
    """

    def __init__(self, site: Site, *, kernel: Kernel = "auto") -> None:
        super().__init__(site)
        self.kernel = kernel
        self.compare = nn.Linear(site.width, self.data_width, bias=False)

    def ask(self, queries: Float[Tensor, "B T D"]) -> Float[Tensor, "B 1 T E"]:
        asked: Tensor = self.compare(queries)
        return asked[:, None]

    def read(self, data: Float[Tensor, "B S E"]) -> tuple[Float[Tensor, "B 1 S E"], Float[Tensor, "B 1 S E"]]:
        return data[:, None], data[:, None]

    def weigh(self, asked: Tensor, keys: Tensor, view: View, rows: slice) -> Float[Tensor, "B 1 t S"]:
        return weights(asked, keys, view, 1.0, rows)

    def mix(self, asked: Tensor, keys: Tensor, values: Tensor, view: View) -> Float[Tensor, "B 1 T E"]:
        return attend(asked, keys, values, view, scale=1.0, kernel=self.kernel)
