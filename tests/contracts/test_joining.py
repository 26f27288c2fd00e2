"""Rows that begin at different times go on together as each would alone, in every decoder."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.model.memory import Memory
from regard.model.menu import MENU

from .pairs import covering
from .small import VOCABULARY, Case, answerers, blocks_of, decoders, every, small, tokens, translators, unchecked

SOURCES = (7, 2, 9, 1, 4)


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with torch.no_grad(), unchecked(), blocks_of(4):
        yield


class Company:
    """Rows in one memory, beside what each of them would be alone. Every row knows its source and all it was told."""

    def __init__(self, model: Any, sources: list[list[int]] | None, prompts: Tensor) -> None:
        self.model, self.sources = model, sources
        if sources is None:
            self.memory: Memory = model.start(rows=len(prompts))
        else:
            longest = max(map(len, sources))
            padded = torch.tensor([row + [0] * (longest - len(row)) for row in sources])
            self.memory = model.start(padded, torch.tensor([len(row) for row in sources]))
        self.of = list(range(len(prompts)))  # whose source a row has
        self.told: list[list[int]] = [[] for _ in prompts]
        self.states: list[list[Tensor]] = [[] for _ in prompts]
        self.step(prompts)

    def step(self, new: Tensor) -> None:
        for row, states in enumerate(self.model.step(new, self.memory)):
            self.told[row] = self.told[row] + new[row].tolist()
            self.states[row] = [*self.states[row], *states]

    def steps(self, count: int, seed: int, at_once: bool = False) -> None:
        new = tokens(len(self.told), count, seed, VOCABULARY)
        for part in [new] if at_once else new.split(1, 1):
            self.step(part)

    def pick(self, rows: list[int]) -> None:
        self.of, self.told, self.states = ([each[row] for row in rows] for each in (self.of, self.told, self.states))

    def reorder(self, rows: list[int]) -> None:
        self.memory.reorder(torch.tensor(rows, dtype=torch.long))
        self.pick(rows)

    def spread(self, share: int) -> None:
        self.memory.spread(share)
        self.pick([row for row in range(len(self.told)) for _ in range(share)])

    def join(self, *others: "Company") -> None:
        self.memory.join([other.memory for other in others])
        for other in others:
            self.of = self.of + [len(self.sources or []) + number for number in other.of]
            self.sources = None if self.sources is None else [*self.sources, *(other.sources or [])]
            self.told, self.states = self.told + other.told, self.states + other.states

    def check(self) -> None:
        for row, (told, states) in enumerate(zip(self.told, self.states, strict=True)):
            target = torch.tensor([told])
            if self.sources is None:
                wanted = self.model.states(target)[0]
            else:
                wanted = self.model.states(torch.tensor([self.sources[self.of[row]]]), target)[0]
            torch.testing.assert_close(torch.stack(states), wanted, rtol=1e-4, atol=2e-5)


def company(model: Any, rows: int, prompt: int, seed: int) -> Company:
    """Some rows with prompts of a length, and sources of several lengths if the model reads any."""
    sources = None
    if hasattr(model, "encoder"):
        lengths = [SOURCES[(seed + row) % len(SOURCES)] for row in range(rows)]
        sources = [tokens(1, length, seed + 7 * row)[0].tolist() for row, length in enumerate(lengths)]
    return Company(model, sources, tokens(rows, prompt, seed, VOCABULARY))


def come_and_go(model: Any, at_once: bool = False) -> None:
    here = company(model, 2, 3, seed=1)
    here.steps(2, seed=2)
    here.join(company(model, 2, 1, seed=3))  # younger than the first positions of a pattern
    here.steps(1, seed=4)
    here.reorder([2, 0, 3, 3, 1])
    here.steps(3, seed=5, at_once=at_once)
    here.join(company(model, 1, 2, seed=6), company(model, 2, 9, seed=7))  # one older than any here
    here.steps(1, seed=8)
    here.check()
    here.reorder([4, 5, 0, 2])
    here.steps(2, seed=9, at_once=at_once)
    here.reorder([1])  # the last is alone again
    here.join(company(model, 1, 1, seed=10))
    here.steps(7, seed=11)
    here.check()


def beams_come_and_go(model: Any, early: bool) -> None:
    here, there = company(model, 2, 2, seed=1), company(model, 2, 1, seed=2)
    if early:
        here.spread(3)
        here.steps(2, seed=3)
        there.spread(3)
        here.join(there)
    else:
        here.join(there)
        here.spread(3)
    here.steps(1, seed=4)
    here.reorder([2, 0, 0, 5, 4, 5, 6, 8, 8, 11, 10, 9])
    here.steps(1, seed=5)
    here.reorder([6, 7, 7, 2, 1, 1, 9, 10, 10])
    other = company(model, 1, 4, seed=6)
    other.spread(3)
    here.join(other)
    here.steps(2, seed=7)
    here.reorder([9, 9, 11, 0, 2, 1, 7, 7, 6])
    here.steps(3, seed=8)
    here.check()
    here.reorder([6, 7, 6])
    here.steps(2, seed=9)
    here.check()


@every([*covering("decoder"), *decoders()])
def test_rows_join_a_language_model_at_any_time(case: Case) -> None:
    come_and_go(case.build(), at_once="pattern" in str(case))


@every([*answerers(), *(case for case in translators() if str(case).startswith("transformer-transformer-"))])
def test_rows_join_a_translator_at_any_time(case: Case) -> None:
    come_and_go(case.build())


@every([*answerers(), *(pair for pair in covering("decoder") if pair.kernel != "naive")])
@pytest.mark.parametrize("early", [True, False], ids=["spread then join", "join then spread"])
def test_hypotheses_join_at_any_time(case: Case, early: bool) -> None:
    beams_come_and_go(case.build(), early)


@pytest.mark.parametrize("width", [1, 2, 3, 11])
@pytest.mark.parametrize("first", [0, 1, 4, 8])
def test_any_window_joins(width: int, first: int) -> None:
    kind = {"kind": "local_global", "first": first} if first else {"kind": "window"}
    pattern = small("pattern", width=width, **kind)
    decoder = small("decoder", "transformer", pattern=pattern, positions=small("positions", "alibi"))
    model = Case(f"{width}-{first}", small("model", "language_model", decoder=decoder)).build()
    come_and_go(model)
    come_and_go(model, at_once=True)
    beams_come_and_go(model, early=True)


@every([case for case in decoders() if "-" not in str(case).removeprefix("decoder-")])
def test_an_endless_stream_needs_bounded_memory(case: Case) -> None:
    """Two rows, one of which is always replaced: after a while nothing grows."""
    model, sizes = case.build(), []
    here = company(model, 2, 1, seed=0)
    for turn in range(24):
        here.steps(4, seed=turn)
        here.reorder([1])
        here.join(company(model, 1, 1, seed=turn))
        here.check() if turn % 8 == 7 else None
        sizes.append(here.memory.nbytes)
        assert here.memory.length <= 8 + 1
    assert max(sizes[4:]) == max(sizes[:4])


@pytest.mark.parametrize("decoder", MENU.parts["decoder"])
def test_rows_of_unknown_source_lengths_cannot_join(decoder: str) -> None:
    model = Case(decoder, small("model", "seq2seq", decoder=small("decoder", decoder))).build()
    one, other = model.start(tokens(1, 3)), model.start(tokens(1, 5))
    if one.cross:
        with pytest.raises(ValueError, match="lengths of their sources"):
            one.join([other])
