"""Mixture of experts."""

from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from annotated_doc import Doc
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.mechanism import glorot
from regard.model.mlp.grouped import grouped
from regard.model.mlp.lean import activate
from regard.model.mlp.mlp import Mlp, thirds
from regard.recipe import Count, Number


class Experts(Mlp):
    """Many MLPs, of which a router picks a few for each token.

    Σ over the A best of E: softmax(top_A(x W_r))_e · MLP_e(x); with `portions` all, softmax(x W_r)_e · MLP_e(x).
    Parameters grow with E, work with A [N3:165; Shazeer et al. 2017; Mixtral]. `balance` is the weight
    of the loss that keeps the experts evenly used, E Σ_e f_e P_e [Fedus et al. 2021].
    """

    def __init__(
        self,
        width: int,
        *,
        experts: Annotated[Count, Doc("Number of MLPs to choose from; all of them count as parameters.")] = 8,
        active: Annotated[Count, Doc("Number of experts that work on a token: the cost of a step grows with it.")] = 2,
        hidden: Annotated[
            Number, Doc("Numbers inside each expert; 0 means four times the width, for swiglu 8/3 of it.")
        ] = 0,
        activation: Annotated[
            Literal["relu", "gelu", "swiglu"], Doc("The function between the two products of an expert.")
        ] = "swiglu",
        portions: Annotated[
            Literal["auto", "active", "all"],
            Doc("What an expert counts: its share among the active ones, or among all; auto is all for one active."),
        ] = "auto",
        balance: Annotated[
            float, Doc("Weight of the loss that keeps all experts equally busy; 0 lets the router favour some.")
        ] = 0.01,
    ) -> None:
        super().__init__()
        if active > experts:
            raise ValueError(f"active: {active} of {experts} experts cannot be active")
        gated = activation == "swiglu"
        hidden = hidden or (thirds(width) if gated else 4 * width)
        self.experts, self.active, self.activation, self.balance = experts, active, activation, balance
        # one alone would always get the whole, and the router learn nothing
        self.among_all = portions == "all" or (portions == "auto" and active == 1)
        self.route = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.empty(experts, (2 if gated else 1) * hidden, width))
        self.down = nn.Parameter(torch.empty(experts, width, hidden))
        self.imbalance: Tensor | None = None

    def initial(self) -> None:
        glorot(self.up)
        glorot(self.down)

    def ends(self) -> list[Tensor]:
        return [self.down]

    def auxiliary_loss(self) -> Tensor | None:
        imbalance, self.imbalance = self.imbalance, None
        return None if imbalance is None else self.balance * imbalance

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        tokens = x.flatten(0, 1)
        scores = self.route(tokens)
        best, chosen = scores.topk(self.active, -1)  # N A
        shares = scores.softmax(-1)
        self.imbalance = self._imbalance(shares, chosen) if self.training else None
        portions = shares.gather(-1, chosen) if self.among_all else best.softmax(-1)
        order = chosen.flatten().argsort(stable=True)  # all tokens of an expert stand together
        where = order // self.active
        stops = F.one_hot(chosen.flatten(), self.experts).sum(0).cumsum(0)
        inner = self._activate(grouped(tokens[where], self.up.mT, stops))
        outer = grouped(inner, self.down.mT, stops) * portions.flatten()[order, None]
        return torch.zeros_like(tokens).index_add(0, where, outer).view_as(x)

    def _activate(self, inner: Float[Tensor, "N I"]) -> Float[Tensor, "N F"]:
        return F.relu(inner) if self.activation == "relu" else activate(inner, self.activation)

    def _imbalance(self, shares: Float[Tensor, "N E"], chosen: Int[Tensor, "N A"]) -> Float[Tensor, ""]:
        """1 when all experts are used alike, E when one does everything."""
        used = F.one_hot(chosen, self.experts).sum(1).to(shares).mean(0) / self.active
        return self.experts * (used * shares.mean(0)).sum()
