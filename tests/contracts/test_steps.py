"""Step by step equals at once, for every decoder; and what is kept between steps stays as small as it should."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.model.menu import MENU

from .pairs import of
from .small import Case, blocks_of, decoders, every, small, tokens, translators, unchecked

LENGTH = 15  # several windows of 5
FULL = 7  # a window of 5 after 2 global positions
UNEVEN = (5, 1, 3, 1, 5)
Start = Callable[[], Any]


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with torch.no_grad(), unchecked(), blocks_of(4):
        yield


def close(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=2e-5)


def write(model: Any, target: Tensor, memory: Any, sizes: tuple[int, ...]) -> Tensor:
    states = [model.step(part, memory) for part in target.split(list(sizes), 1)]
    logits: Tensor = model.head(torch.cat(states, 1))
    return logits


def grows(case: Case) -> bool:
    """Whether the past is kept whole: only by a Transformer that neither forgets nor sums up."""
    decoder = case.table["decoder"]
    if decoder["kind"] != "transformer" or decoder["attention"]["kind"] == "linear":
        return False
    pattern = MENU.order("pattern", decoder["pattern"], "pattern").build()
    return pattern.mask().window is None


def one_at_a_time(case: Case, model: Any, target: Tensor, memory: Any) -> Tensor:
    """Writes, and watches the memory on the way."""
    states, sizes = [], []
    for step in range(LENGTH):
        assert memory.length == step
        states.append(model.step(target[:, step : step + 1], memory))
        sizes.append(memory.nbytes)
    steps = {later - earlier for earlier, later in pairwise(sizes[FULL:])}
    assert len(steps) == 1  # once a window is full, every step costs the same
    assert (steps.pop() > 0) == grows(case)
    logits: Tensor = model.head(torch.cat(states, 1))
    return logits


def in_uneven_chunks_with_rows_changing_places(model: Any, target: Tensor, memory: Any, rows: Tensor) -> Tensor:
    """Three chunks, then the rows move as beams do, then the rest."""
    first = write(model, target[:, :9], memory, UNEVEN[:3])
    memory.reorder(rows)
    return torch.cat([first[rows], write(model, target[rows][:, 9:], memory, UNEVEN[3:])], 1)


@every([*of("decoder"), *decoders()])
def test_a_language_model_writes_step_by_step_what_it_writes_at_once(case: Case) -> None:
    model, target, rows = case.build(), tokens(2, LENGTH), torch.tensor([1, 1, 0])
    wanted = model(target)
    close(one_at_a_time(case, model, target, model.start(rows=2)), wanted)
    close(in_uneven_chunks_with_rows_changing_places(model, target, model.start(rows=2), rows), wanted[rows])


@every(translators())
def test_a_translator_writes_step_by_step_what_it_writes_at_once(case: Case) -> None:
    model, source, target = case.build(), tokens(3, 7), tokens(3, LENGTH, seed=1)
    lengths, rows = torch.tensor([7, 3, 1]), torch.tensor([2, 0, 0, 1])
    wanted = model(source, target, lengths)
    close(one_at_a_time(case, model, target, model.start(source, lengths)), wanted)
    memory = model.start(source, lengths)
    close(in_uneven_chunks_with_rows_changing_places(model, target, memory, rows), wanted[rows])


@pytest.mark.parametrize("pattern", MENU.parts["pattern"])
@pytest.mark.parametrize("width", [1, 2, 3, 11])
@pytest.mark.parametrize("sizes", [(15,), (1, 14), (2, 13), (3, 1, 11), (14, 1), (5, 5, 5), (1,) * 15])
def test_any_window_and_any_cut_agree(pattern: str, width: int, sizes: tuple[int, ...]) -> None:
    wide = {"width": width} if "width" in MENU.parts["pattern"][pattern].model_fields else {}
    decoder = small("decoder", "transformer", pattern=small("pattern", pattern, **wide))
    case = Case(f"{pattern}-{width}", small("model", "language_model", decoder=decoder))
    model, target = case.build(), tokens(2, LENGTH)
    memory = model.start(rows=2)
    close(write(model, target, memory, sizes), model(target))
    assert memory.length == LENGTH
