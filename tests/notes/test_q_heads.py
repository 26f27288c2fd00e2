"""Notes, part F, measured: what the heads of a taught model do, which of them are needed, and which are not."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from lessons import teach
from measures import language_model
from torch import Tensor

from regard.looking.heads import Heads, measure
from regard.looking.line import Line, plain_line
from regard.looking.look import Look, gather
from regard.looking.scene import Piece, Scene

LETTERS, LENGTH, FAR, ROWS = 12, 14, 2, 12
ENDS = range(LENGTH - 1, ROWS * LENGTH, LENGTH)


def wanted(rows: Tensor) -> Tensor:
    """Everywhere the letter before, and at the end one that stood far back: as a verb wants its subject."""
    before = rows.roll(1, 1)
    before[:, 0] = 0
    before[:, -1] = rows[:, FAR]
    return before


@pytest.fixture(scope="module")
def writer() -> Any:
    """One layer of four heads."""
    torch.manual_seed(3)
    heads = {"kind": "multihead", "heads": 4}
    model = language_model(LETTERS, 32, layers=1, attention=heads, positions="learned")
    chance = torch.Generator().manual_seed(0)

    def asked() -> tuple[Tensor, Tensor]:
        rows = torch.randint(1, LETTERS, (32, LENGTH), generator=chance)
        return model(rows), wanted(rows)

    teach(model, asked, 150)
    return model.eval()


@pytest.fixture(scope="module")
def look(writer: Any) -> Look:
    """Some rows, and what it has learnt to say of them."""
    rows = torch.randint(1, LETTERS, (ROWS, LENGTH), generator=torch.Generator().manual_seed(1))
    said, sizes = wanted(rows), {"inputs": LENGTH, "outputs": LENGTH}
    lines: Any = {"inputs": line_of(rows), "outputs": line_of(said)}
    pieces = [Piece((row[None],), answer, sizes) for row, answer in zip(rows, said, strict=True)]
    return gather(Scene(writer, lines, pieces, writer.states, {"inputs": writer.target}, "", ""))


def line_of(rows: Tensor) -> Line:
    """Rows behind each other, as words."""
    ids = rows.flatten().tolist()
    return replace(plain_line([f"w{letter}" for letter in ids]), ids=tuple(ids))


@pytest.fixture(scope="module")
def heads(look: Look) -> Heads:
    return measure(look)


def test_093_a_head_for_position(look: Look, heads: Heads) -> None:
    """The letter before is asked for, and some head looks at it far more than an even one would."""
    assert max(look.scene.costs()[1:]) < 0.7
    found = max(heads.heads, key=lambda head: head.scores["previous"] or 0.0)
    assert found.role == "previous"
    assert found.scores["previous"] > 2 * found.even["previous"]


def own(shares: Tensor) -> Tensor:
    """Of the end of every row, what was read of that row: rows, positions."""
    return shares.unflatten(-1, (ROWS, LENGTH))[torch.arange(ROWS), torch.arange(ROWS)]


def test_095_097_a_head_looks_far_back_and_the_word_there_counts_most(look: Look) -> None:
    """At the end a head looks eleven positions back; gradients say by themselves that this word counted."""
    heads = torch.stack([own(panel.table(words=False)[list(ENDS)]) for panel in look.panels("heads.masked")])
    assert heads.amax((0, 2)).min() > 0.5
    assert heads.amax(0).argmax(1).tolist() == [FAR] * ROWS
    shares = torch.cat([look.influence.shares("inputs", end, end + 1) for end in ENDS])
    assert int(own(shares).mean(0).argmax()) == FAR
    assert own(shares)[:, FAR].mean() > 0.4


def test_096_some_heads_can_go_and_one_cannot(heads: Heads) -> None:
    """Trap T9: the notes call no head redundant. Here one is needed, and another can be switched off unnoticed."""
    costs = sorted(head.effect.loss for head in heads.heads)
    assert costs[-1] > 0.3
    assert costs[0] < 0.2 * costs[-1]
    assert max(head.like[1] for head in heads.heads if head.like) > 0.9  # and two do the same
