"""Bahdanau's additive score."""

from typing import Annotated

import torch
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.attention.attention import Attention, Site
from regard.model.attention.kernels import mixed
from regard.model.attention.kernels.naive import ALL, normalised
from regard.model.attention.view import View
from regard.recipe import Number


class Additive(Attention):
    """A small network with one hidden layer compares query and key.

    e_ti = vᵀ tanh(W s_{t-1} + U h_i), α_t = softmax(e_t), c_t = Σ_i α_ti h_i
    [N4:47-57, N3:20-29; Bahdanau et al. 2015]
    """

    hears = ("bias",)

    def __init__(
        self,
        site: Site,
        *,
        hidden: Annotated[Number, Doc("Numbers in the layer that compares query and key; 0 means the width.")] = 0,
    ) -> None:
        super().__init__(site)
        hidden = hidden or site.width
        self.query = nn.Linear(site.width, hidden, bias=False)
        self.key = nn.Linear(self.data_width, hidden)
        self.score = nn.Linear(hidden, 1, bias=False)

    def ask(self, queries: Float[Tensor, "B T D"]) -> Float[Tensor, "B 1 T A"]:
        asked: Tensor = self.query(queries)
        return asked[:, None]

    def read(self, data: Float[Tensor, "B S E"]) -> tuple[Float[Tensor, "B 1 S A"], Float[Tensor, "B 1 S E"]]:
        return self.key(data)[:, None], data[:, None]

    def weigh(self, asked: Tensor, keys: Tensor, view: View, rows: slice) -> Float[Tensor, "B 1 t S"]:
        both = torch.tanh(asked[:, :, rows, None] + keys[:, :, None])  # B 1 t S A
        return normalised(self.score(both).squeeze(-1), asked.shape[2], view, rows)

    def mix(self, asked: Tensor, keys: Tensor, values: Tensor, view: View) -> Float[Tensor, "B 1 T E"]:
        return mixed(self.weigh(asked, keys, view, ALL), values)
