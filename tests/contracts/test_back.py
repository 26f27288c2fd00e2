"""What was read and then dropped has left no trace: every memory can be brought back to a mark."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.model.menu import MENU

from .pairs import covering
from .small import Case, decoders, every, small, tokens, translators, unchecked

LENGTH, SPOILT = 15, 3
ROUNDS = ((1, 4, 2), (4, 4, 0), (2, 1, 1), (1, 5, 5), (1, 3, 1))  # read for good; tried; of these kept


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with torch.no_grad(), unchecked():
        yield


def tried_and_dropped(model: Any, target: Tensor, memory: Any) -> Tensor:
    """Some positions, then tries of which only the first are right; states of all that is right."""
    found, at = list[Tensor](), 0
    for read, tried, kept in ROUNDS:
        found.append(model.step(target[:, at : at + read], memory))
        at += read
        mark = memory.mark(tried)
        guess = torch.cat([target[:, at : at + kept], (target[:, at + kept : at + tried] + SPOILT) % 11], 1)
        guess = guess[:, :tried]
        model.step(guess, memory)
        again = memory.back(mark, kept)
        assert again in (0, kept)
        assert memory.length == at + kept - again
        if again:
            model.step(target[:, at : at + kept], memory)
        at += kept
    found.append(model.step(target[:, at:], memory))
    return torch.cat(found, 1)


def kept_out(states: Tensor) -> Tensor:
    """The same positions of a pass over all at once: those that were read for good."""
    places, at = list[int](), 0
    for read, _, kept in ROUNDS:
        places += range(at, at + read)
        at += read + kept
    return states[:, [*places, *range(at, states.shape[1])]]


def check(model: Any, target: Tensor, memory: Any, wanted: Tensor) -> None:
    found = model.head(tried_and_dropped(model, target, memory))
    torch.testing.assert_close(found, kept_out(wanted), rtol=1e-4, atol=2e-5)


@every([*covering("decoder"), *decoders()])
def test_a_language_model_comes_back(case: Case) -> None:
    model, target = case.build(), tokens(2, LENGTH + 5)
    check(model, target, model.start(rows=2), model(target))


@every(translators())
def test_a_translator_comes_back(case: Case) -> None:
    model, source, target = case.build(), tokens(3, 7), tokens(3, LENGTH + 5, seed=1)
    lengths = torch.tensor([7, 3, 1])
    check(model, target, model.start(source, lengths), model(source, target, lengths))


@pytest.mark.parametrize("pattern", MENU.parts["pattern"])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 11, 40])
def test_any_window_comes_back(pattern: str, width: int) -> None:
    wide = {"width": width} if "width" in MENU.parts["pattern"][pattern].model_fields else {}
    decoder = small("decoder", "transformer", pattern=small("pattern", pattern, **wide))
    model = Case(f"{pattern}-{width}", small("model", "language_model", decoder=decoder)).build()
    target = tokens(2, 4 * LENGTH)
    memory = model.start(rows=2)
    check(model, target, memory, model(target))
    before = model.head(model.step(target[:, :1], memory))
    for _ in range(3):  # to the same mark again and again, also past where a window moves
        mark = memory.mark(5)
        model.step(tokens(2, 5, seed=9), memory)
        assert memory.back(mark) == 0
    assert memory.length == 4 * LENGTH + 1
    assert before.isfinite().all()


def test_a_window_takes_in_many_where_its_buffer_has_not_grown_yet() -> None:
    decoder = small("decoder", "transformer", pattern=small("pattern", "window", width=100))
    model = Case("wide", small("model", "language_model", decoder=decoder)).build()
    target, memory = tokens(1, 215), model.start(rows=1)
    parts = [model.step(part, memory) for part in target.split([60, *[1] * 55, 100], 1)]
    torch.testing.assert_close(model.head(torch.cat(parts, 1)), model(target), rtol=1e-4, atol=2e-5)


@every([*covering("decoder"), *decoders()])
def test_rows_are_taken_again_from_one_that_stays(case: Case) -> None:
    model, target = case.build(), tokens(3, LENGTH)
    target[:, :6] = target[0, :6]
    memory = model.start(rows=1)
    model.step(target[:1, :6], memory)
    for rows in (3, 2):
        other = memory.again(torch.zeros(rows, dtype=torch.long))
        found = model.head(model.step(target[:rows, 6:], other))
        torch.testing.assert_close(found, model(target)[:rows, 6:], rtol=1e-4, atol=2e-5)
    assert (memory.length, memory.rows) == (6, 1)
