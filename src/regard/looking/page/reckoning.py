"""One head's queries, keys and values, so that the page can reckon its steps anew: of scaled dot products [N2:369-401],
and of Bahdanau's additive score e_ti = vᵀ tanh(W s_{t-1} + U h_i) [N4:47-57]."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import InputError
from regard.looking.layers import Layer
from regard.looking.look import Look
from regard.looking.page.packing import vectors
from regard.model.attention import Additive, Attention, Dot, General, Multihead
from regard.model.transformer import TransformerDecoder, TransformerEncoder


@dataclass(frozen=True)
class Reckoned:
    """Who asked, what was there, what was handed over, in one head; and what scores are multiplied by."""

    queries: Float[Tensor, "T K"]
    keys: Float[Tensor, "S K"]
    values: Float[Tensor, "S C"]
    scale: float
    """1 / √d, or 1 where nothing is divided."""
    slope: float
    """What a position more of distance costs (alibi)."""
    additive: Float[Tensor, "1 K"] | None = None
    """The v of an additive score, whose queries are W s and whose keys are U h; None where scores are products."""

    def content(self) -> bytes:
        """For the page: scale and slope as one row, then the three tables, and behind them v if there is one."""
        more = [] if self.additive is None else [self.additive]
        return vectors(torch.tensor([[self.scale, self.slope]]), self.queries, self.keys, self.values, *more)


def can_reckon(look: Look, layer: Layer) -> bool:
    """Whether scores are products of queries and keys, or additive, and keys stand in their order."""
    part = look.scene.model.get_submodule(layer.name)
    glances = look.seen[0][layer.name].glances
    plain = all(glance.at is None and glance.values is not None for glance in glances)
    return isinstance(part, Multihead | Dot | General | Additive) and plain and len(look.scene.pieces) == 1


def reckon(look: Look, name: str) -> Reckoned:
    """A head by its name, `cross.0.3`."""
    kind, number, head = look.panel(name).place
    layers = [layer for layer in look.of(kind) if layer.number == number]
    if not layers or head is None:
        raise InputError(f"{name}: no head; its steps can be reckoned of one head only")
    if not can_reckon(look, layers[0]):
        raise InputError(f"{name}: its scores are neither products of queries and keys nor additive")
    return _of(look, layers[0], head)


def _of(look: Look, layer: Layer, head: int) -> Reckoned:
    part: Any = look.scene.model.get_submodule(layer.name)
    assert isinstance(part, Attention)
    glances = look.seen[0][layer.name].glances
    first = glances[0]
    group = head // (first.asked.shape[1] // first.keys.shape[1])
    values = first.values
    assert values is not None
    queries = torch.cat([glance.asked[0, head] for glance in glances])
    slopes = _slopes(look, layer)
    return Reckoned(
        queries.float(),
        first.keys[0, group].float(),
        values[0, group].float(),
        part.scale if isinstance(part, Multihead) else 1.0,
        0.0 if slopes is None else float(slopes[head]),
        part.score.weight.detach().float() if isinstance(part, Additive) else None,
    )


def _slopes(look: Look, layer: Layer) -> Tensor | None:
    """What distance costs each head; positions are known to the stack, and only where a side looks at itself."""
    stack = look.scene.model.get_submodule(layer.name.rpartition(".layers.")[0])
    if layer.rows != layer.columns or not isinstance(stack, TransformerEncoder | TransformerDecoder):
        return None
    slopes: Tensor | None = stack.positions.slopes(layer.heads)
    return slopes
