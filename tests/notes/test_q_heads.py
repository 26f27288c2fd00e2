"""Notes, part F, measured: what the heads of a taught model do, which of them are needed, and which are not."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from lessons import teach
from measures import language_model
from torch import Tensor

from regard.looking.heads import Heads, measure
from regard.looking.line import plain_line
from regard.looking.look import Look, gather
from regard.looking.scene import Piece, Scene

LETTERS, LENGTH, FAR = 12, 14, 2
ROW = [5, 2, 9, 7, 1, 8, 3, 10, 4, 11, 6, 5, 7, 2]


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
    """One row, and what it has learnt to say of it."""
    row = torch.tensor([ROW])
    said = wanted(row)[0]
    line = replace(plain_line([f"w{letter}" for letter in ROW]), ids=tuple(ROW))
    answer = replace(plain_line([f"w{letter}" for letter in said.tolist()]), ids=tuple(said.tolist()))
    lines: Any = {"inputs": line, "outputs": answer}
    piece = Piece((row,), said, {"inputs": LENGTH, "outputs": LENGTH})
    return gather(Scene(writer, lines, [piece], writer.states, {"inputs": writer.target}, "", ""))


@pytest.fixture(scope="module")
def heads(look: Look) -> Heads:
    return measure(look)


def test_093_a_head_for_position(look: Look, heads: Heads) -> None:
    """The letter before is asked for, and some head looks at it far more than an even one would."""
    assert max(look.scene.costs()[1:]) < 0.7
    found = max(heads.heads, key=lambda head: head.scores["previous"] or 0.0)
    assert found.role == "previous"
    assert found.scores["previous"] > 2 * found.even["previous"]


def test_095_097_a_head_looks_far_back_and_the_word_there_counts_most(look: Look) -> None:
    """At the end a head looks eleven positions back; gradients say by themselves that this word counted."""
    ends = torch.stack([panel.table(words=False)[-1] for panel in look.panels("heads.masked")])
    head, place = divmod(int(ends.argmax()), LENGTH)
    assert place == FAR
    assert ends[head, FAR] > 0.5
    assert int(look.influence.shares("inputs", LENGTH - 1, LENGTH)[0].argmax()) == FAR


def test_096_some_heads_can_go_and_one_cannot(heads: Heads) -> None:
    """Trap T9: the notes call no head redundant. Here one is needed, and another can be switched off unnoticed."""
    costs = sorted(head.effect.loss for head in heads.heads)
    assert costs[-1] > 0.3
    assert costs[0] < 0.2 * costs[-1]
    assert max(head.like[1] for head in heads.heads if head.like) > 0.9  # and two do the same
