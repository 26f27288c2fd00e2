"""No attention: one summary for every query."""

from jaxtyping import Float
from torch import Tensor

from regard.model.attention.attention import Attention
from regard.model.attention.kernels import attend, weights
from regard.model.attention.view import View


class NoAttention(Attention):
    """Nothing is looked up: all queries get the plain mean of what they may see.

    α_ij = 1/n. In a recurrent decoder it means the fixed context vector, h_T [N2:30-33, N4:17].
    """

    hears = ("bias",)

    def ask(self, queries: Float[Tensor, "B T D"]) -> Float[Tensor, "B 1 T E"]:
        return queries.new_zeros(len(queries), 1, queries.shape[1], self.data_width)

    def read(self, data: Float[Tensor, "B S E"]) -> tuple[Float[Tensor, "B 1 S E"], Float[Tensor, "B 1 S E"]]:
        return data[:, None], data[:, None]

    def weigh(self, asked: Tensor, keys: Tensor, view: View, rows: slice) -> Float[Tensor, "B H t S"]:
        return weights(asked, keys, view, 1.0, rows)

    def mix(self, asked: Tensor, keys: Tensor, values: Tensor, view: View) -> Float[Tensor, "B H T C"]:
        return attend(asked, keys, values, view, scale=1.0)
