"""Multi-head scaled dot-product attention."""

from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.attention.attention import Attention, Site, divide, split
from regard.model.attention.kernels import Kernel, attend, weights
from regard.model.attention.view import View
from regard.model.options import Heads
from regard.recipe import Number, Share


class Multihead(Attention):
    """Several heads look at once, each in a subspace of its own.

    head_i = softmax(Q_i K_iᵀ / √d_k) V_i, output = Concat(heads) W_O [N2:535-560; Vaswani et al.
    2017]. With fewer `kv_heads`, groups of heads share keys and values [Ainslie et al. 2023]; `scale`
    one leaves out the √d_k [N4:105-107].
    """

    def __init__(
        self,
        site: Site,
        *,
        heads: Heads = 8,
        kv_heads: Annotated[
            Number, Doc("Heads of keys and values, shared by groups of heads; 0 means as many as heads.")
        ] = 0,
        scale: Annotated[
            Literal["root", "one"], Doc("What scores are divided by: the root of a head's width, or one.")
        ] = "root",
        bias: Annotated[
            bool | Literal["inputs"],
            Doc("Whether each product adds a learned vector; inputs means those of queries, keys and values only."),
        ] = True,
        head_width: Annotated[
            Number, Doc("Numbers in a query or key of a head; 0 means the width divided by the heads.")
        ] = 0,
        dropout: Annotated[
            Share, Doc("Share of attention weights set to zero by chance while training; 0 is none.")
        ] = 0.0,
        kernel: Kernel = "auto",
    ) -> None:
        super().__init__(site)
        self.heads, self.kv_heads = heads, kv_heads or heads
        width = head_width or divide(site.width, heads)
        if heads % self.kv_heads:
            raise ValueError(f"kv_heads: {self.kv_heads} groups do not divide {heads} heads")
        site.positions.check_head(width)
        self.scale = width**-0.5 if scale == "root" else 1.0
        self.dropout, self.kernel = dropout, kernel
        self.query = nn.Linear(site.width, heads * width, bool(bias))
        self.key_value = nn.Linear(self.data_width, 2 * self.kv_heads * width, bool(bias))
        self.output = nn.Linear(heads * width, site.width, bias is True)
        self.out_width = site.width

    def ask(self, queries: Float[Tensor, "B T D"]) -> Float[Tensor, "B H T K"]:
        return split(self.query(queries), self.heads)

    def read(self, data: Float[Tensor, "B S E"]) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S K"]]:
        keys, values = self.key_value(data).chunk(2, -1)
        return split(keys, self.kv_heads), split(values, self.kv_heads)

    def both(
        self, x: Float[Tensor, "B T D"]
    ) -> tuple[Float[Tensor, "B H T K"], Float[Tensor, "B G T K"], Float[Tensor, "B G T K"]]:
        """[Q K V] = X [W_Q W_K W_V] in one product [N3:92-99]."""
        if x.shape[1] == 1 or not isinstance(self.query, nn.Linear):  # joining would cost as much as the product
            return self.ask(x), *self.read(x)
        weight = torch.cat([self.query.weight, self.key_value.weight])
        bias = None if self.query.bias is None else torch.cat([self.query.bias, self.key_value.bias])
        widths = [len(self.query.weight), len(self.key_value.weight) // 2, len(self.key_value.weight) // 2]
        asked, keys, values = F.linear(x, weight, bias).split(widths, -1)
        return split(asked, self.heads), split(keys, self.kv_heads), split(values, self.kv_heads)

    def weigh(self, asked: Tensor, keys: Tensor, view: View, rows: slice) -> Float[Tensor, "B H t S"]:
        return weights(asked, keys, view, self.scale, rows)

    def mix(self, asked: Tensor, keys: Tensor, values: Tensor, view: View) -> Float[Tensor, "B H T K"]:
        dropout = self.dropout if self.training else 0.0
        return attend(asked, keys, values, view, scale=self.scale, kernel=self.kernel, dropout=dropout)

    def answer(self, mixed: Float[Tensor, "B H T K"]) -> Float[Tensor, "B T D"]:
        answered: Tensor = self.output(super().answer(mixed))
        return answered

    def ends(self) -> list[Tensor]:
        return [self.output.weight]
