"""What becomes of a model without some of its heads: a measure of what they are good for.

The notes say that no head is redundant [N2:606]; whoever takes heads away finds that many can go (trap T9)
[Michel et al. 2019; Voita et al. 2019].
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from regard.errors import InputError
from regard.looking.look import Look
from regard.looking.scene import Piece, Scene
from regard.model.watch import silenced

NAMED = 8  # changes that are told one by one
TOKENS = 4096  # positions that are read at once: the same input over and over, in each row other heads off

Silence = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Effect:
    """How much the loss grows (nats a token), and how many of the tokens written would be others in their place."""

    loss: float
    changed: int


@dataclass(frozen=True)
class Change:
    """A step, counted from 0, at which another token becomes the likeliest, given the same beginning."""

    step: int
    before: str
    after: str


@dataclass(frozen=True)
class Without:
    """The same model with heads switched off: its loss before and after, at how many steps another token becomes the
    likeliest (and which ones first), and what it writes then (None: not asked)."""

    heads: tuple[str, ...]
    loss: tuple[float, float]
    changed: int
    tokens: int
    answer: str | None
    changes: tuple[Change, ...] = ()


def effects(look: Look, off: Sequence[Silence]) -> list[Effect]:
    """Of every one of these silences by itself; as many at a time as fit."""
    scene = look.scene
    loss, changed = [0.0] * len(off), [0] * len(off)
    count = sum(len(piece.outputs) for piece in scene.pieces)
    for piece in scene.pieces:
        (costs,), (said,) = _read(scene, piece, [{}])
        size = max(1, TOKENS // sum(piece.sizes.values()))
        for first in range(0, len(off), size):
            some = off[first : first + size]
            for place, (cost, other) in enumerate(zip(*_read(scene, piece, some), strict=True), first):
                loss[place] += float((cost - costs).sum()) / count
                changed[place] += int((other != said).sum())
    return [Effect(*pair) for pair in zip(loss, changed, strict=True)]


def without(look: Look, names: Sequence[str], again: bool = True) -> Without:
    """Switch heads off by their names, `cross.0.3`, or whole layers, `cross.0`; and let it answer `again`."""
    scene, off = look.scene, _named(look, names)
    (effect,) = effects(look, [off])
    changes = tuple(islice(_changes(scene, off), NAMED))
    before = sum(costs := scene.costs()) / max(1, len(costs))
    answer = None
    if again and scene.again is not None:
        with silenced(scene.model, off):
            answer = scene.again()
    return Without(tuple(names), (before, before + effect.loss), effect.changed, len(costs), answer, changes)


def _changes(scene: Scene, off: Silence) -> Iterator[Change]:
    """One by one, from the first on."""
    above = 0
    for piece in scene.pieces:
        before, after = (_read(scene, piece, [silence])[1][0] for silence in ({}, off))
        for step in (before != after).nonzero()[:NAMED, 0].tolist():
            yield Change(above + step, *scene.named([int(before[step]), int(after[step])]))
        above += len(piece.outputs)


def _named(look: Look, names: Sequence[str]) -> dict[str, list[int]]:
    off: dict[str, list[int]] = {}
    for name in names:
        kind, layer, head = look.panel(name).place
        layers = [one for one in look.of(kind) if layer in (None, one.number)]
        if not layers:
            raise InputError(f"{name}: no head, and nothing else can be switched off")
        for one in layers:
            off.setdefault(one.name, []).extend(range(one.heads) if head is None else [head])
    return off


@torch.no_grad()
def _read(scene: Scene, piece: Piece, off: Sequence[Silence]) -> tuple[Tensor, Tensor]:
    """−log p of what was written, and what would be likeliest: a row for every silence."""
    with silenced(scene.model, *off):
        states = scene.run(piece, len(off))
    return -scene.log_probs(piece, states), scene.likeliest(piece, states)
