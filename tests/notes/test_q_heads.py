"""Notes, part F, measured: what the heads of a taught model do, which of them are needed, and which are not."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from lessons import teach
from measures import language_model
from torch import Tensor

from regard.looking.heads import Head, Heads, measure
from regard.looking.line import plain_line
from regard.looking.look import Look, gather
from regard.looking.scene import Piece, Scene

LETTERS, LENGTH = 12, 24


def again(rows: int, chance: torch.Generator) -> Tensor:
    """Rows that say a few letters and then the same letters again, from a place that differs."""
    found = torch.randint(1, LETTERS, (rows, LENGTH), generator=chance)
    for row in found:
        period = int(torch.randint(7, 12, (), generator=chance))
        row[period:] = row[torch.arange(LENGTH - period) % period]
    return found


@pytest.fixture(scope="module")
def writer() -> Any:
    """Two layers of four heads that have learnt to go on with what comes again."""
    torch.manual_seed(3)
    model = language_model(LETTERS, 32, attention={"kind": "multihead", "heads": 4}, positions="rotary")
    chance = torch.Generator().manual_seed(0)

    def asked() -> tuple[Tensor, Tensor]:
        rows = again(48, chance)
        return model(rows[:, :-1])[:, 12:], rows[:, 13:]

    teach(model, asked, 350)
    return model.eval()


@pytest.fixture(scope="module")
def look(writer: Any) -> Look:
    """One row of letters as words: the first eleven differ, then they come again."""
    letters = [5, 2, 9, 7, 1, 8, 3, 11, 4, 10, 6]
    row = torch.tensor([(letters * 3)[:LENGTH]])
    line = replace(plain_line([f"w{letter}" for letter in row[0].tolist()]), ids=tuple(row[0].tolist()))
    lines: Any = {"inputs": line, "outputs": line.part(1, LENGTH, words=False)[0]}
    piece = Piece((row,), row[0, 1:], {"inputs": LENGTH, "outputs": LENGTH - 1})
    return gather(Scene(writer, lines, [piece], writer.states, {"inputs": writer.target}, "", ""))


@pytest.fixture(scope="module")
def heads(look: Look) -> Heads:
    return measure(look)


def best(heads: Heads, score: str) -> Head:
    return max(heads.heads, key=lambda head: head.scores[score] or 0.0)


def test_093_a_head_for_position(heads: Heads) -> None:
    """Some head looks at the token before, which is what induction needs to be told [Olsson et al. 2022]."""
    found = best(heads, "previous")
    assert found.scores["previous"] > 2 * found.even["previous"]
    assert found.name.startswith("masked.0.")


def test_097_a_head_that_looks_far_back(heads: Heads) -> None:
    """Ten positions back, where an even head's mean is less: the distance is measured, not read off a picture."""
    found = best(heads, "induction")
    assert found.scores["distance"] > 7
    assert found.scores["local"] < found.even["local"]


def test_098_a_head_that_finds_repeated_counterparts(look: Look, heads: Heads) -> None:
    """From the second time on, it looks behind the first time."""
    found = best(heads, "induction")
    assert found.name.startswith("masked.1.")
    assert found.scores["induction"] > 0.6
    assert found.even["induction"] < 0.1
    weights = look.panel(found.name).table(words=False)
    places = [int(weights[row].argmax()) for row in range(12, 20)]
    assert sum(place == row - 10 for place, row in zip(places, range(12, 20), strict=True)) >= 6


def test_096_some_heads_can_go_and_one_cannot(heads: Heads) -> None:
    """Trap T9: the notes call no head redundant. Here one is needed, and another can be switched off unnoticed."""
    costs = sorted(head.effect.loss for head in heads.heads)
    assert costs[-1] > 0.5
    assert costs[0] < 0.1 * costs[-1]
    assert max(head.like[1] for head in heads.heads if head.like) > 0.4  # and some do much the same
