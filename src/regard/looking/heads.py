"""Numbers about heads: what each does on one text, which do the same, and what becomes of the answer without it.

They say what heads did here, on this text; a role is a name for that and no more [N2:524-526, N2:572-628; trap T9].
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.figures import text_table
from regard.listener import SILENT, Listener
from regard.looking.ablation import Effect, effects
from regard.looking.look import Look
from regard.looking.roles import ROLES, WIDE, Scores, Tally, role
from regard.markup import block, said, table

COMPARED = 2**31  # numbers that are compared to find heads that do the same
ROWS = 128  # rows in which they are compared, at most
COLUMNS = ("head", "role", " share", " bits", " away", " loss", " changed", "most alike")
ORDER = (*ROLES, *WIDE, "broad", "mixed")


@dataclass(frozen=True)
class Head:
    """One head: its scores beside those of uniform attention, its role, its effect, its nearest kin."""

    name: str
    role: str
    strength: float
    scores: Scores
    even: Scores
    effect: Effect
    like: tuple[str, float] | None = None

    def cells(self, tokens: int) -> tuple[str, ...]:
        """As a row of a table."""
        bits, away = (self.scores.get(name) or 0.0 for name in ("entropy", "distance"))
        kin = "" if self.like is None else f"{self.like[0]} {self.like[1]:.2f}"
        effect = self.effect
        figures = (f"{self.strength:.2f}", f"{bits:.2f}", f"{away:.1f}", f"{effect.loss:+.3f}")
        return (self.name, self.role, *figures, f"{effect.changed}/{tokens}", kin)


@dataclass(frozen=True)
class Heads:
    """All heads of a model on one text, those of a role together, the clearest first."""

    heads: Sequence[Head]
    tokens: int
    similar: dict[str, list[list[float]]] = field(repr=False)
    """For every kind, how much of their weight every two heads put in the same places: 1 is all of it."""
    compared: dict[str, int] = field(repr=False)
    """In how many rows they were compared."""

    def __str__(self) -> str:
        return text_table(COLUMNS, [head.cells(self.tokens) for head in self.heads])

    def _repr_html_(self) -> str:
        return block(said(LEGEND), table(COLUMNS, [head.cells(self.tokens) for head in self.heads]))

    def facts(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        heads = [asdict(head) for head in self.heads]
        return {"tokens": self.tokens, "heads": heads, "similar": self.similar, "compared_rows": self.compared}


LEGEND = (
    "share: how far the head follows its role, from 0 (no more than uniform attention) to 1 (always; broad: its "
    "entropy over that of uniform attention); bits: entropy; away: mean distance in tokens or patches; "
    "loss: change without the head, in nats per token; changed: tokens that are different without it; "
    "most alike: the head with the most similar weights"
)


def measure(look: Look, listener: Listener = SILENT) -> Heads:
    """Every head of a look. Means are over tokens, not words: a role is one of tokens."""
    names = [(layer, head) for layer in look.layers for head in range(layer.heads)]
    listener.at("switching heads off")
    found = effects(look, [{layer.name: [head]} for layer, head in names])
    gone = {f"{layer}.{head}": effect for (layer, head), effect in zip(names, found, strict=True)}
    heads = []
    similar: dict[str, list[list[float]]] = {}
    compared: dict[str, int] = {}
    for kind in look.kinds:
        listener.at(f"comparing heads ({kind})")
        labels = [f"{layer}.{head}" for layer in look.of(kind) for head in range(layer.heads)]
        matrix, rows = likeness(look, kind)
        similar[kind], compared[kind] = matrix.tolist(), rows
        for place, (name, (scores, even)) in enumerate(zip(labels, scored(look, kind), strict=True)):
            heads.append(Head(name, *role(scores, even), scores, even, gone[name], _kin(matrix, place, labels)))
    heads.sort(key=lambda head: (ORDER.index(head.role), -head.strength))
    tokens = sum(len(piece.outputs) for piece in look.scene.pieces)
    return Heads(heads, tokens, similar, compared)


def scored(look: Look, kind: str) -> list[tuple[Scores, Scores]]:
    """Scores of every head of a kind, layer by layer, each beside those of an even one; no head is switched off."""
    found = []
    for layer in look.of(kind):
        rows, columns = (look.scene.lines[side] for side in (layer.rows, layer.columns))
        tally = Tally(layer, rows, columns)
        for start in range(0, len(rows), layer.most):
            tally.add(start, look.rows(layer, start, min(start + layer.most, len(rows))))
        found += tally.scores()
    return found


def likeness(look: Look, kind: str) -> tuple[Float[Tensor, "N N"], int]:
    """Σ_j min(α_ij, β_ij), the mean over rows evenly chosen, for every two heads of a kind; and how many rows."""
    layers = look.of(kind)
    heads = sum(layer.heads for layer in layers)
    tall, wide = (len(look.scene.lines[side]) for side in (layers[0].rows, layers[0].columns))
    rows = max(1, min(tall, ROWS, COMPARED // max(1, heads * heads * wide)))
    total = torch.zeros(heads, heads)
    for row in (number * tall // rows for number in range(rows)):
        weights = torch.cat([look.rows(layer, row, row + 1)[:, 0] for layer in layers]).cpu()
        total += torch.stack([torch.minimum(weights, one).sum(1) for one in weights])
    return total / rows, rows


def _kin(matrix: Float[Tensor, "N N"], place: int, labels: Sequence[str]) -> tuple[str, float] | None:
    if len(labels) < 2:
        return None
    others = matrix[place].clone()
    others[place] = -1.0
    nearest = int(others.argmax())
    return labels[nearest], float(others[nearest])
