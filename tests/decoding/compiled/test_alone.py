"""One sentence from its ids to its last hypothesis, beside torch and beside sentences that are remembered."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
import torch
from contracts.small import Case, few, small, tokens, unchecked
from hypothesis import given, settings
from hypothesis import strategies as st
from test_leap import POSITIONS, STOPS, Given, model, same
from torch import nn

from regard.decoding.beam import Beam
from regard.decoding.compiled import steps as chosen
from regard.decoding.compiled.alone import LONGEST, Alone
from regard.decoding.compiled.leap import Leap
from regard.decoding.compiled.machine_code import Code
from regard.decoding.compiled.standing import Standing
from regard.decoding.compiled.team import TEAM
from regard.decoding.engine import Engine
from regard.decoding.request import Hypothesis, Request
from regard.decoding.sample import Greedy
from regard.decoding.search import Search
from regard.errors import NoNumbersError
from regard.model.quantize import quantize
from regard.model.watch import watch


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with unchecked():
        yield


class Done:
    """How many sentences were done at once, and how many were left to others."""

    def __enter__(self) -> "Done":
        self.alone = self.left = 0
        self._patch, leap = pytest.MonkeyPatch(), Alone.leap

        def noted(alone: Alone, *asked: Any) -> Leap | None:
            found = leap(alone, *asked)
            self.alone, self.left = self.alone + (found is not None), self.left + (found is None)
            return found

        self._patch.setattr(Alone, "leap", noted)
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()


def one_by_one(code: Code | None, engine: Engine, asked: list[Request]) -> list[list[Hypothesis]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chosen, "MACHINE_CODE", Given(code))
        if code is None:
            engine._job.spare.clear()
        return [engine.write([each])[0] for each in asked]


def sentences(count: int, seed: int = 0, most: int = 24) -> list[Request]:
    """Sources and limits of several lengths, behind one token."""
    return [
        Request([1 + number % 3], tokens(1, 1 + 5 * number % 17, number + seed)[0].tolist(), 1 + 7 * number % most)
        for number in range(count)
    ]


@settings(few, max_examples=25)
@given(
    st.sampled_from(POSITIONS),
    st.sampled_from(STOPS),
    st.integers(1, 6),
    st.sampled_from([(0.0, 0), (0.6, 3), (1.5, 6)]),
    st.integers(0, 10**6),
)
def test_sentences_are_those_of_torch(
    code: Code, positions: str, stops: list[int], size: int, lengths: tuple[float, int], seed: int
) -> None:
    writer = model("seq2seq", positions, seed=seed % 5)
    beam = Beam(beam_size=size, n_best=1 + seed % size, length_penalty=lengths[0], min_length=lengths[1])
    engine = Engine(writer, beam if size > 1 else Greedy(min_length=lengths[1]), stop_tokens=stops, forbidden=[0])
    asked = sentences(1 + seed % 4, seed)
    with Done() as done:
        same(one_by_one(code, engine, asked), one_by_one(None, engine, asked))
    assert (done.alone, done.left) == (len(asked), 0)


@pytest.mark.parametrize("eight", [False, True])
@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=5)], ids=str)
def test_they_are_those_that_are_remembered(
    code: Code, threads: int, eight: bool, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit, and one after another: threads that come late disturb no later sentence."""
    writer = model()
    if eight:
        quantize(writer)
    engine, asked = Engine(writer, search, stop_tokens=[2]), sentences(60, most=60)
    with Done() as done:
        found = one_by_one(code, engine, asked)
    monkeypatch.setattr(chosen, "ALONE", 0)
    same(found, one_by_one(code, engine, asked), rel=1e-6)
    assert done.alone == len(asked)


def test_only_a_shortlist_is_written(code: Code) -> None:
    writer, words = model(), torch.tensor([4, 7, 8, 11])
    engine = Engine(writer, Beam(beam_size=3), stop_tokens=[2], shortlist=lambda _: words)
    asked = sentences(4)
    with Done() as done:
        found = one_by_one(code, engine, asked)
    assert done.alone == len(asked)
    same(found, one_by_one(None, engine, asked))
    assert {token for some in found for each in some for token in each.tokens} <= set(words.tolist())


def _in_place(writer: Any) -> None:
    with torch.no_grad():
        writer.decoder.layers[0].attention.output.weight.mul_(-1.0)


def _source_in_place(writer: Any) -> None:
    with torch.no_grad():
        writer.decoder.layers[0].cross.key_value.weight.mul_(-1.0)


def _other_numbers(writer: Any) -> None:
    writer.head.weight.data = writer.head.weight.data.flip(0)


def _another_parameter(writer: Any) -> None:
    layer = writer.encoder.layers[0].mlp
    layer.down.weight = nn.Parameter(-layer.down.weight.detach())


def _another_part(writer: Any) -> None:
    writer.decoder.layers[0].mlp = deepcopy(writer.decoder.layers[-1].mlp)
    _in_place(writer)


@pytest.mark.parametrize(
    "change", [_in_place, _source_in_place, _other_numbers, _another_parameter, _another_part, quantize]
)
def test_a_model_that_was_changed_is_looked_at_anew(code: Code, change: Callable[[Any], object]) -> None:
    writer, asked = model(), sentences(6)
    engine = Engine(writer, Beam(beam_size=4), stop_tokens=[])
    before = one_by_one(code, engine, asked)
    change(writer)
    after = one_by_one(code, engine, asked)
    same(after, one_by_one(code, Engine(writer, Beam(beam_size=4), stop_tokens=[]), asked))
    assert [each[0].log_prob for each in after] != [each[0].log_prob for each in before]


def test_a_copy_is_looked_at_by_itself(code: Code) -> None:
    writer, asked = model(), sentences(3)
    engine = Engine(writer, Beam(beam_size=4), stop_tokens=[])
    found = one_by_one(code, engine, asked)
    other = deepcopy(engine)
    _in_place(other._job.model)
    assert other._job.spare
    changed = one_by_one(code, other, asked)
    same(changed, one_by_one(None, Engine(other._job.model, Beam(beam_size=4), stop_tokens=[]), asked))
    same(one_by_one(code, engine, asked), found, rel=1e-6)


def test_who_watches_or_has_a_hook_is_served_by_torch(code: Code) -> None:
    writer, asked = model(), sentences(2)
    engine = Engine(writer, Beam(beam_size=4), stop_tokens=[2])
    wanted = one_by_one(None, engine, asked)
    with Done() as done, watch(writer) as seen:
        same(one_by_one(code, engine, asked), wanted)
    assert done.alone == 0
    assert seen
    called: list[int] = []
    hook = writer.encoder.register_forward_hook(lambda *_: called.append(1))
    with Done() as done:
        same(one_by_one(code, engine, asked), wanted)
    hook.remove()
    assert done.alone == 0
    assert called


def test_weights_of_which_nobody_knows_whether_they_change_are_left_to_others(code: Code) -> None:
    with torch.inference_mode():
        writer = model()
    engine, asked = Engine(writer, Greedy(), stop_tokens=[2]), sentences(2)
    with Done() as done:
        found = one_by_one(code, engine, asked)
    assert (done.alone, done.left) == (0, 0)
    same(found, one_by_one(None, engine, asked))


def test_a_window_or_a_sentence_without_end_is_left_to_others(code: Code) -> None:
    decoder = small("decoder", "transformer", pattern=small("pattern", "window"))
    writer = Case("seq2seq", small("model", "seq2seq", decoder=decoder)).build(3)
    engine, asked = Engine(writer, Beam(beam_size=3), stop_tokens=[2]), sentences(2)
    with Done() as done:
        same(one_by_one(code, engine, asked), one_by_one(None, engine, asked))
    assert (done.alone, done.left) == (0, 0)
    engine = Engine(model(), Greedy(), stop_tokens=[])
    with Done() as done:
        ((long,),) = one_by_one(code, engine, [Request([1], [5, 3], LONGEST + 1)])
    assert (done.alone, done.left, len(long.tokens)) == (0, 1, LONGEST + 1)


@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=4)], ids=str)
def test_weights_that_are_no_numbers_are_told(code: Code, search: Search) -> None:
    writer = model()
    with torch.no_grad():
        writer.encoder.layers[0].mlp.down.weight[:] = torch.nan
    with pytest.raises(NoNumbersError, match="not numbers"):
        one_by_one(code, Engine(writer, search, stop_tokens=[2]), sentences(1))


def test_a_model_stands_as_it_stood_until_something_is_changed() -> None:
    writer = model()
    standing = Standing(writer)
    assert standing.certain
    assert standing.holds
    with torch.inference_mode():
        writer.start(torch.tensor([[5, 3]]), torch.tensor([2]))
    standing = Standing(writer)
    assert standing.holds
    for register in (writer.encoder.register_forward_hook, writer.head.register_forward_pre_hook):
        hook = register(lambda *_: None)
        assert not standing.holds
        hook.remove()
        assert standing.holds
    writer.head.bias = None
    assert not standing.holds


def test_a_table_in_the_place_of_another_is_seen() -> None:
    part = nn.Module()
    part.register_buffer("table", torch.zeros(2))
    standing = Standing(part)
    assert standing.holds
    part.table = torch.zeros(2)
    assert not standing.holds


def test_helpers_leave_when_they_are_told_and_come_when_they_are_wanted(code: Code) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    engine, asked = Engine(model(), Beam(beam_size=4), stop_tokens=[2]), sentences(3)
    found = one_by_one(code, engine, asked)
    helpers = list(TEAM._helpers)
    TEAM.part()
    assert helpers
    assert not any(helper.is_alive() for helper in helpers)
    same(one_by_one(code, engine, asked), found, rel=1e-6)
    assert TEAM._helpers
    torch.set_num_threads(before)
