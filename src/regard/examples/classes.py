"""How much heads look at a class of words, over many sentences: of a trained model, and of an even head.

A role that is found on some sentences is measured on others: the best of many heads is always good where it was chosen.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.looking.look import Look
from regard.looking.merging import merged

Words = Sequence[str]
Wanted = Callable[[Words], list[tuple[int, int]]]
"""The places of a sentence, row and column, where a role would put its weight."""


@dataclass(frozen=True)
class Found:
    """The head of a role: chosen on half of the sentences, its share of the weight on the other half, beside even."""

    head: str
    share: float
    even: float

    @property
    def strength(self) -> float:
        """The share of what there is above an even head's: 1 is all."""
        return (self.share - self.even) / (1 - self.even)


def looks_at(words: Collection[str]) -> Wanted:
    """All that is not of a class looks at what is."""

    def places(line: Words) -> list[tuple[int, int]]:
        inside = {place for place, word in enumerate(line) if word in words}
        return [(row, column) for row in range(len(line)) if row not in inside for column in inside]

    return places


def related(*classes: Collection[str]) -> Wanted:
    """What is of one of several classes looks at what is of another: a verb at its object, a subject at its verb."""

    def places(line: Words) -> list[tuple[int, int]]:
        of = [next((number for number, words in enumerate(classes) if word in words), None) for word in line]
        every = [(row, column) for row in range(len(line)) for column in range(len(line))]
        return [(row, column) for row, column in every if None not in (of[row], of[column]) and of[row] != of[column]]

    return places


def find(looks: Sequence[Look], kind: str, wanted: Wanted) -> Found:
    """The head that a role fits best on every other sentence, and how well it does on the rest."""
    names = [f"{layer}.{head}" for layer in looks[0].of(kind) for head in range(layer.heads)]
    chosen, held = (torch.stack([shares(look, kind, wanted) for look in looks[start::2]]).mean(0) for start in (0, 1))
    best = int((chosen[:-1]).argmax())
    return Found(names[best], float(held[best]), float(held[-1]))


def shares(look: Look, kind: str, wanted: Wanted) -> Float[Tensor, "heads_and_even"]:
    """The mean weight of every head, and last of an even one, in the places of a role, over the rows that have some."""
    tables = weights(look, kind)
    line = look.scene.lines[look.of(kind)[0].rows].words
    places = torch.zeros(tables.shape[1:], dtype=torch.bool)
    for row, column in wanted(line):
        places[row, column] = True
    visible = (tables > 0).any(0)
    rows = (places & visible).any(1) & (~places & visible).any(1)
    even = visible / visible.sum(1, keepdim=True)
    found = torch.cat([tables, even[None]]) * places
    return found.sum(2)[:, rows].mean(1)


def weights(look: Look, kind: str) -> Float[Tensor, "heads r C"]:
    """All heads of a kind, layer by layer, in words."""
    found = []
    for layer in look.of(kind):
        rows, columns = (look.scene.lines[side] for side in (layer.rows, layer.columns))
        found.append(merged(look.rows(layer, 0, len(rows)), rows.spans, columns))
    return torch.cat(found)
