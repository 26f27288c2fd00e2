"""Hypotheses share what was read of their source: each goes on as if it had a source of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.model.attention.attention import fold, unfold
from regard.model.memory import Branches, Held, KeysValues, Memory, Past, Sliding
from regard.model.menu import MENU
from regard.model.positions import Where
from regard.model.watch import watch

from .small import VOCABULARY, Case, answerers, choices, every, few, small, some, tokens, translators, unchecked

LENGTHS = torch.tensor([7, 3, 1, 5])


def looking() -> list[Case]:
    """Recurrent decoders with every attention in every order; convolutions and Transformers with every attention."""
    return [case for case in translators() if str(case).startswith("recurrent-") and "concat" not in str(case)]


def pasts() -> list[Case]:
    """What a Transformer keeps of its own past, by every kernel and pattern, with some attention to the source."""
    looks = {"window": "linear", "local_global": "additive", "causal": "general", "full": "multihead"}
    cases = []
    for (pattern, cross), kernel in product(looks.items(), choices("attention", "multihead", "kernel")):
        decoder = small(
            "decoder",
            "transformer",
            attention=small("attention", "multihead", kernel=kernel),
            cross=small("attention", cross),
            pattern=small("pattern", pattern, **({"width": 2} if "width" in small("pattern", pattern) else {})),
            positions=small("positions", "alibi" if kernel == "naive" else "rotary"),
        )
        cases.append(Case(f"{pattern}-{cross}-{kernel}", small("model", "seq2seq", decoder=decoder)))
    return cases


@dataclass
class Desk:
    """Rows that are written step by step, beside what each of them would be alone."""

    model: Any
    source: Tensor
    lengths: Tensor | None
    memory: Memory
    sentences: Tensor  # whose row it is
    written: Tensor
    states: Tensor

    @classmethod
    def of(cls, model: Any, count: int, lengths: Tensor | None) -> "Desk":
        source = tokens(count, 7)
        memory = model.start(source, lengths)
        states = torch.zeros(count, 0, model.decoder.out_width)
        return cls(model, source, lengths, memory, torch.arange(count), tokens(count, 0), states)

    def step(self, count: int, seed: int) -> None:
        new = tokens(len(self.written), count, seed, VOCABULARY)
        self.states = torch.cat([self.states, self.model.step(new, self.memory)], 1)
        self.written = torch.cat([self.written, new], 1)

    def spread(self, share: int) -> None:
        self.memory.spread(share)
        self._pick(torch.arange(len(self.written)).repeat_interleave(share))

    def reorder(self, rows: list[int]) -> None:
        self.memory.reorder(torch.tensor(rows, dtype=torch.long))
        self._pick(torch.tensor(rows, dtype=torch.long))

    def _pick(self, rows: Tensor) -> None:
        self.sentences, self.written, self.states = self.sentences[rows], self.written[rows], self.states[rows]

    def at_once(self) -> Tensor:
        """All rows anew, with a source for each."""
        lengths = None if self.lengths is None else self.lengths[self.sentences]
        states: Tensor = self.model.states(self.source[self.sentences], self.written, lengths)
        return states

    def check(self) -> None:
        """Every state so far is that of the model at once."""
        torch.testing.assert_close(self.states, self.at_once(), rtol=1e-5, atol=1e-5)
        kept = {len(tensor) for tensor in held_of_source(self.memory)}
        assert kept <= {len(self.sentences) // self.memory.share}


def held_of_source(memory: Memory) -> list[Tensor]:
    """What was read of the source."""
    lengths = [] if memory.source_lengths is None else [memory.source_lengths]
    return [*(tensor for entry in memory.cross for tensor in entry.tensors()), *lengths]


def moved(share: int, *parents: list[int]) -> list[int]:
    """Rows after a step: for every sentence that stays, which it is, and from which of its beams each goes on."""
    return [sentence * share + beam for sentence, *beams in parents for beam in beams]


@every([*answerers(), *looking(), *pasts()])
def test_hypotheses_that_share_a_source_go_on_as_if_each_had_its_own(case: Case) -> None:
    with torch.no_grad(), unchecked():
        desk = Desk.of(case.build(), 4, LENGTHS)
        desk.step(1, seed=1)
        desk.spread(3)
        desk.step(1, seed=2)
        desk.reorder(moved(3, [0, 2, 0, 0], [1, 1, 1, 1], [2, 0, 1, 2], [3, 2, 1, 0]))
        desk.step(2, seed=3)
        desk.reorder(moved(3, [0, 1, 1, 2], [1, 0, 2, 2], [3, 2, 2, 0]))  # the third has ended
        desk.step(1, seed=4)
        desk.check()
        desk.reorder(moved(3, [1, 2, 0, 1], [2, 0, 0, 1]))  # and the first
        desk.step(1, seed=5)
        desk.step(3, seed=6)
        desk.reorder(moved(3, [1, 1, 2, 0]))
        desk.step(1, seed=7)
        desk.check()
        desk.reorder([])


@every([case for case in looking() if "luong" not in str(case)])
@few
@given(data=st.data())
def test_however_they_move(case: Case, data: st.DataObject) -> None:
    count, share = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    lengths = LENGTHS[:count] if data.draw(st.booleans()) else None
    beams = st.lists(st.integers(0, share - 1), min_size=share, max_size=share)
    with torch.no_grad(), unchecked():
        desk = Desk.of(case.build(), count, lengths)
        if early := data.draw(st.integers(0, 2)):
            desk.step(early, seed=0)
        desk.spread(share)
        for seed in range(1, 4):
            desk.step(data.draw(st.integers(1, 2)), seed)
            here = len(desk.sentences) // share
            stay = data.draw(st.lists(st.sampled_from(range(here)), min_size=1, max_size=here, unique=True))
            desk.reorder(moved(share, *([sentence, *data.draw(beams)] for sentence in stay)))
        desk.step(1, seed=5)
        desk.check()


@every([case for case in answerers() if "attention." in str(case) or "cross." in str(case)])
def test_what_was_read_of_the_source_is_held_once(case: Case) -> None:
    with torch.no_grad(), unchecked():
        desk = Desk.of(case.build(), 4, LENGTHS)
        desk.step(1, seed=1)
        source = held_of_source(desk.memory)
        assert len(source) > 1
        before = [tensor.data_ptr() for tensor in source]
        own = desk.memory.nbytes - sum(tensor.nbytes for tensor in source)
        desk.spread(5)
        desk.reorder(moved(5, *([sentence, 4, 3, 2, 1, 0] for sentence in range(4))))
        assert [tensor.data_ptr() for tensor in held_of_source(desk.memory)] == before  # nor copied
        assert desk.memory.nbytes - sum(tensor.nbytes for tensor in source) <= 5 * own


def seen(model: Any, ending: str, act: Callable[[], object]) -> list[Tensor]:
    """The weights of every attention with such a name during an act."""
    with torch.no_grad(), unchecked(), watch(model) as sights:
        act()
    return [sight.weights for name, sight in sights.items() if name.startswith("decoder") and name.endswith(ending)]


@pytest.mark.parametrize("attention", MENU.parts["attention"])
def test_what_each_hypothesis_sees_of_the_source_can_be_watched(attention: str) -> None:
    """The looks of a sentence's hypotheses stand one after another, position by position."""
    decoder = small("decoder", "transformer", cross=small("attention", attention))
    model = Case(attention, small("model", "seq2seq", decoder=decoder)).build()
    share, steps = 3, 2
    with watch(model):  # linear attention keeps its keys only for those who watch
        desk = Desk.of(model, 4, LENGTHS)
    desk.spread(share)
    shared = seen(model, "cross", lambda: desk.step(steps, seed=1))
    alone = seen(model, "cross", desk.at_once)
    assert len(shared) == len(alone) == 2
    for weights, wanted in zip(shared, alone, strict=True):
        each = weights.unflatten(2, (share, steps)).transpose(1, 2).flatten(0, 1)
        torch.testing.assert_close(each, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("pattern", MENU.parts["pattern"])
@pytest.mark.parametrize("attention", [kind for kind in MENU.parts["attention"] if kind != "linear"])
def test_what_each_hypothesis_sees_of_its_own_past_can_be_watched(attention: str, pattern: str) -> None:
    """Columns are positions, whoever of the sentence's hypotheses wrote them."""
    parts = {"attention": small("attention", attention), "pattern": small("pattern", pattern)}
    model = Case(attention, small("model", "seq2seq", decoder=small("decoder", "transformer", **parts))).build()
    share = 3
    with torch.no_grad(), unchecked():
        desk = Desk.of(model, 4, LENGTHS)
        desk.step(2, seed=1)
        desk.spread(share)
        desk.step(1, seed=2)
        desk.reorder(moved(share, [0, 2, 0, 0], [1, 1, 2, 1], [3, 2, 1, 0]))
        desk.step(1, seed=3)
        desk.reorder(moved(share, [0, 1, 1, 2], [2, 0, 2, 0]))
    stepped = seen(model, "attention", lambda: desk.step(1, seed=4))
    whole = seen(model, "attention", desk.at_once)
    assert len(stepped) == len(whole) == 2
    for weights, wanted in zip(stepped, whole, strict=True):
        each = weights.transpose(1, 2).reshape(2 * share, -1, 1, weights.shape[-1]) if len(weights) == 2 else weights
        torch.testing.assert_close(each, wanted[:, :, -1:], rtol=1e-5, atol=1e-5)


@some
@given(*(st.integers(1, 5) for _ in range(5)))
def test_rows_become_positions_and_rows_again(rows: int, share: int, heads: int, steps: int, width: int) -> None:
    asked = torch.arange(rows * share * heads * steps * width).float().view(rows * share, heads, steps, width)
    folded = fold(asked, rows)
    assert folded.shape == (rows, heads, share * steps, width)
    for row, beam, step in [(0, 0, 0), (rows - 1, share - 1, 0), (rows // 2, share // 2, steps - 1)]:
        assert torch.equal(folded[row, :, beam * steps + step], asked[row * share + beam, :, step])
    assert torch.equal(unfold(folded, rows * share), asked)


class Noted(Held):
    """Tells where the rows were that it was given."""

    rows: Tensor

    def reorder(self, rows: Tensor) -> None:
        self.rows = rows
        super().reorder(rows)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_rows_are_spread_on_their_own_device(device: str) -> None:
    entry = Noted(torch.zeros(2, 3, device=device))
    memory = Memory(2, [entry], source_lengths=torch.zeros(2, dtype=torch.long, device=device))
    memory.spread(3)
    assert entry.held[0].shape == (6, 3)
    assert entry.rows.device == entry.held[0].device


@some
@given(st.data())
def test_every_hypothesis_reads_its_own_line(data: st.DataObject) -> None:
    """Keys say who wrote them: whatever is kept, what a row may see is what was written on its way here."""
    count, share, early = (data.draw(st.integers(1, 3)) for _ in range(3))
    memory = Memory(count, [KeysValues()])
    lines = [[100 * row + step for step in range(early)] for row in range(count)]
    if data.draw(st.booleans()):  # room that is not used yet
        append(memory, [[float(key) for key in line[:1]] for line in lines])
        for step in range(1, early):
            append(memory, [[float(line[step])] for line in lines])
    else:
        append(memory, [[float(key) for key in line] for line in lines])
    memory.spread(share)
    lines = [list(line) for line in lines for _ in range(share)]
    for step in range(early, early + data.draw(st.integers(1, 5))):
        new = [1000 * (step + 1) + row for row in range(len(lines))]
        keys, values, at, visible = append(memory, [[float(key)] for key in new])
        lines = [[*line, key] for line, key in zip(lines, new, strict=True)]
        assert memory.length == step + 1
        assert torch.equal(values, -keys)
        for row, line in enumerate(lines):
            sentence, beam = (row, 0) if len(keys) == len(lines) else divmod(row, share)
            shown = visible[sentence, beam]
            assert keys[sentence, 0, shown, 0].tolist() == line
            stood = at if at.ndim == 1 else at[sentence]
            assert stood[shown].tolist() == list(range(step + 1))
        here = len(lines) // share
        stay = data.draw(st.lists(st.sampled_from(range(here)), min_size=1, max_size=here, unique=True))
        beams = st.lists(st.integers(0, share - 1), min_size=share, max_size=share)
        rows = moved(share, *([sentence, *data.draw(beams)] for sentence in stay))
        memory.reorder(torch.tensor(rows))
        lines = [lines[row] for row in rows]


def append(memory: Memory, keys: list[list[float]]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """New keys, a list a row; what is kept, where it stands, and what each row may see of it."""
    (past,) = memory.layers
    assert isinstance(past, Past)
    new = torch.tensor(keys)[:, None, :, None]
    kept, values, at = past.append(new, -new, memory.where(new.shape[2]))
    memory.advance(new.shape[2])
    if isinstance(past, Branches):
        return kept, values, at, past.visible[:, 0]
    return kept, values, at, torch.ones(len(kept), 1, kept.shape[2], dtype=torch.bool)


def test_what_is_held_of_rows_and_of_sources_moves_apart() -> None:
    recent, state = Sliding(2, 1), Held(torch.tensor([[0.0], [10.0], [20.0]]))
    for step in range(4):
        keys = torch.tensor([step, 10.0 + step, 20.0 + step]).view(3, 1, 1, 1)
        recent.append(keys, -keys, Where(step, step + 1))
    cross, lengths = Held(torch.tensor([[0.5], [10.5], [20.5]])), torch.tensor([7, 8, 9])
    memory = Memory(3, [recent, state], cross=[cross], source_lengths=lengths)
    memory.advance(4)
    assert memory.share == 1
    memory.spread(2)
    assert memory.share == 2
    assert state.held[0].flatten().tolist() == [0, 0, 10, 10, 20, 20]
    assert memory.source_mask().key_lengths.tolist() == [7, 8, 9]
    state.replace(torch.arange(6.0)[:, None])
    memory.reorder(torch.tensor([5, 4, 0, 0]))
    assert state.held[0].flatten().tolist() == [5, 4, 0, 0]
    assert cross.held[0].flatten().tolist() == [20.5, 0.5]
    assert memory.source_mask().key_lengths.tolist() == [9, 7]
    new = torch.tensor([24.0, 24.5, 4.0, 4.5]).view(4, 1, 1, 1)
    keys, values, at = recent.append(new, -new, memory.where(1))
    assert at.tolist() == [0, 3, 4]
    assert keys[:, 0, :, 0].tolist() == [[20, 23, 24], [20, 23, 24.5], [0, 3, 4], [0, 3, 4.5]]
    assert torch.equal(values, -keys)
    memory.reorder(torch.tensor([], dtype=torch.long))
    assert [len(entry.tensors()[0]) for entry in memory] == [0] * 3
