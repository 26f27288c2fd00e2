"""What heads do, in numbers: how much of their weight goes where a role would put it.

The notes see heads for sentence structure and punctuation, nouns, relations, tone [N2:524-526, N2:572-594], for what is
far away [N2:616-622] and for repeated counterparts [N2:624-628]. What can be measured on any text without a parser is:

self, previous, next     the position itself, the one before, the one behind
first                    the first token, where heads put what they have no use for (a sink) [Xiao et al. 2024]
duplicate                another position with the same token, if that is text
induction                what stood behind an earlier occurrence of the token [Olsson et al. 2022]
diagonal                 at most one from the straight line through source and target
punctuation, special     marks of punctuation; tokens that are no text
local                    at most LOCAL away: what is not local is global
entropy, distance        in bits; in tokens (across two sides: from the straight line)
row, column              of patches of an image, in place of those that only an order of words has (neighbours.py)

A score is a mean over the rows that have such a position to look at, and another one too; None if there is no such row.
"""

import math
from collections.abc import Mapping

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.looking import neighbours
from regard.looking.layers import Layer
from regard.looking.line import Line

LOCAL = 3
STRONG = 0.3  # share of what there is above an even head's, from which a head has a role
BROAD = 0.9  # share of an even head's entropy

Scores = dict[str, float | None]
ORDERED = ("first", "previous", "next", "self", "induction", "duplicate", "diagonal", "punctuation", "special")
ROLES = (*ORDERED, "row", "column")
WIDE = ("local", "global")


class Tally:
    """Sums over the rows of one attention, a block at a time: of its heads, and of one that looks at all alike."""

    def __init__(self, layer: Layer, rows: Line, columns: Line) -> None:
        self.layer, self.rows, self.columns = layer, rows, columns
        self.square = layer.rows == layer.columns
        self._sums: dict[str, Tensor] = {}
        self._counts: dict[str, float] = {}
        self._words = _numbered(rows, columns, self.square)
        self._home = _home(rows, columns, self.square)
        punctuation = columns.punctuation  # found once: it reads every token
        marks = [place in punctuation for place in range(len(columns))]
        outside = [place in columns.special for place in range(len(columns))]
        self._columns = {"punctuation": torch.tensor(marks), "special": torch.tensor(outside)}

    def add(self, start: int, weights: Float[Tensor, "H t S"]) -> None:
        """Rows from `start` on, of all heads."""
        weights = weights.double().cpu()
        visible = (weights > 0).any(0)
        even = visible / visible.sum(1, keepdim=True).clamp(min=1)
        both = torch.cat([weights, even[None]])  # the last is no head of the model's
        for name, places in self._places(start, weights.shape[1]).items():
            there = (places & visible).any(1) & (~places & visible).any(1)
            self._note(name, (both * places).sum(2)[:, there])
        choice = visible.sum(1) > 1
        self._note_far(start, both, choice)
        self._note("entropy", -torch.xlogy(both, both).sum(2)[:, choice] / math.log(2))

    def _note_far(self, start: int, both: Float[Tensor, "h t S"], choice: Bool[Tensor, "t"]) -> None:
        """How near and how far: along the line, or in rows and columns of patches."""
        if self.columns.grid is not None:
            away, lies = neighbours.away(self.columns, start, both.shape[1])
            choice = choice & lies.any(1)
            on = (both * lies).sum(2).clamp(min=1e-12)
            self._note("local", (both * (lies & (away <= neighbours.LOCAL))).sum(2)[:, choice])
            return self._note("distance", ((both * away).sum(2) / on)[:, choice])
        away = (torch.arange(both.shape[2]) - self._home[start : start + both.shape[1], None]).abs()
        self._note("local", (both * (away <= LOCAL)).sum(2)[:, choice])
        return self._note("distance", (both * away).sum(2)[:, choice])

    def _note(self, name: str, found: Float[Tensor, "h r"]) -> None:
        self._sums[name] = self._sums.get(name, torch.zeros(len(found))) + found.sum(1)
        self._counts[name] = self._counts.get(name, 0.0) + found.shape[1]

    def _places(self, start: int, count: int) -> dict[str, Bool[Tensor, "t S"]]:
        """Where each role would look from some rows."""
        row, column = torch.arange(start, start + count)[:, None], torch.arange(len(self.columns))[None]
        mine, theirs = self._words
        begins = torch.tensor(self.columns.starts)
        first = begins[_piece(self.rows, row)] if len(begins) == len(self.rows.starts) else begins[:1]
        found = {name: places.expand(count, -1) for name, places in self._columns.items()}
        if self.columns.grid is not None:
            return {"special": found["special"] & (column != row)} | neighbours.places(self.columns, start, count)
        found["first"] = (column == first) & (column != row if self.square else True)
        if not self.square:
            near = (column - self._home[start : start + count, None]).abs() <= 1
            return found | {"diagonal": near, "duplicate": mine[row] == theirs[column]}
        before = torch.cat([torch.full((1,), -1), theirs[:-1]])  # what stood before each column
        before[begins] = -1
        return found | {
            "self": column == row,
            "previous": column == row - 1,
            "next": column == row + 1,
            "duplicate": (mine[row] == theirs[column]) & (column != row),
            "induction": (before[column] == mine[row]) & (column != row + 1) & (column != row),
        }

    def scores(self) -> list[tuple[Scores, Scores]]:
        """Of every head, and what an even one would have in its place."""
        names = [name for name in (*ROLES, "local", "entropy", "distance") if name in self._counts]
        means = {name: (self._sums[name] / self._counts[name]).tolist() for name in names if self._counts[name]}
        tables: list[Scores] = [
            {name: means[name][head] if name in means else None for name in names}
            for head in range(self.layer.heads + 1)
        ]
        return [(table, tables[-1]) for table in tables[:-1]]


def role(scores: Mapping[str, float | None], even: Mapping[str, float | None]) -> tuple[str, float]:
    """The role that explains most of what a head does beyond an even one, and how much: 1 is all there is."""
    far = {"global": _rest(scores.get("local")), "local": scores.get("local")}
    usual = {"global": _rest(even.get("local")), "local": even.get("local")}
    for names in (ROLES, WIDE):
        found = [
            (beyond(one, other), name)
            for name in names
            if (one := {**far, **scores}.get(name)) is not None and (other := {**usual, **even}.get(name)) is not None
        ]
        best = max(found, key=lambda pair: pair[0], default=(0.0, ""))
        if best[0] >= STRONG:
            return best[1], best[0]
    bits, most = scores.get("entropy") or 0.0, even.get("entropy") or 0.0
    return ("broad", bits / most) if most and bits >= BROAD * most else ("mixed", best[0])


def beyond(score: float, even: float) -> float:
    """The share of what an even head leaves over."""
    return (score - even) / (1 - even) if even < 1 - 1e-9 else 0.0


def _rest(local: float | None) -> float | None:
    return None if local is None else 1 - local


def _numbered(rows: Line, columns: Line, square: bool) -> tuple[Tensor, Tensor]:
    """A number for every token, the same for the same one; across two sides, letters decide. Tokens that are no text
    have numbers of their own: that both sides end with <eos> does not make it a word that is said again."""
    mine = list(rows.ids if square else rows.tokens)
    theirs = list(columns.ids if square else columns.tokens)
    names = {name: number for number, name in enumerate(dict.fromkeys([*mine, *theirs]))}
    found = torch.tensor([names[name] for name in mine]), torch.tensor([names[name] for name in theirs])
    for numbers, line, first in zip(found, (rows, columns), (len(names), len(names) + len(rows)), strict=True):
        for place in line.special:
            numbers[place] = first + place
    return found


def _home(rows: Line, columns: Line, square: bool) -> Float[Tensor, "T"]:
    """Where the straight line through both sides stands at each row: in every piece from its first to its last."""
    if square:
        return torch.arange(len(rows)).double()
    tops, lefts = ([*line.starts, len(line)] for line in (rows, columns))
    if len(tops) != len(lefts):
        tops, lefts = [0, len(rows)], [0, len(columns)]
    parts = [
        torch.linspace(left, max(left, right - 1), max(0, bottom - top), dtype=torch.float64)
        for top, bottom, left, right in zip(tops, tops[1:], lefts, lefts[1:], strict=False)
    ]
    return torch.cat(parts)


def _piece(line: Line, row: Tensor) -> Tensor:
    """The piece each row belongs to."""
    return torch.searchsorted(torch.tensor(line.starts), row, right=True) - 1
