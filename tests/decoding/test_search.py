"""What holds for every way to write: nothing barred is written, and who has ended leaves."""

from collections.abc import Callable
from math import isfinite

import pytest
import torch
from chances import (
    BEGIN,
    DECODERS,
    END,
    LONGEST,
    PAD,
    VOCABULARY,
    WORDS,
    Table,
    asked,
    few,
    language_model,
    lines,
    lines_of,
    log_prob,
    repeats,
    some,
    sources,
    steps,
    translator,
    unchecked,
    write,
)
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from regard.decoding.beam import Beam
from regard.decoding.choice import Choice, forbid
from regard.decoding.engine import Engine
from regard.decoding.request import Request
from regard.decoding.sample import Greedy, Sample
from regard.decoding.search import BLANK, Search
from regard.errors import NoNumbersError

Make = Callable[..., Search]
SEARCHES: dict[str, Make] = {
    "greedy": Greedy,
    "sample": Sample,
    "beam-1": lambda **options: Beam(beam_size=1, **options),
    "beam-3": lambda **options: Beam(beam_size=3, n_best=3, **options),
    "beam-9": lambda **options: Beam(beam_size=9, n_best=9, **options),  # wider than there are words
}
SEEDS = st.integers(0, 10**6)
ALL = Choice(nn.Linear(1, 12), {END}, {PAD, BEGIN})
every = pytest.mark.parametrize("make", SEARCHES.values(), ids=SEARCHES)


@every
@some
@given(seed=SEEDS, limits=st.lists(st.integers(1, LONGEST), min_size=1, max_size=4))
def test_only_words_are_written_and_no_more_than_allowed(make: Make, seed: int, limits: list[int]) -> None:
    table = Table.random(seed, len(limits))
    found = table.write(make(), limits)
    assert len(found) == len(limits)
    for sentence, (hypotheses, limit) in enumerate(zip(found, limits, strict=True)):
        assert hypotheses
        for hypothesis in hypotheses:
            assert not {PAD, BEGIN, END} & set(hypothesis.tokens)
            assert all(token < VOCABULARY for token in hypothesis.tokens)
            assert len(hypothesis.tokens) <= limit
            wanted = table.log_prob(sentence, hypothesis.tokens, limit)
            assert hypothesis.log_prob == pytest.approx(wanted, abs=1e-5)
            assert hypothesis.score == pytest.approx(wanted / steps(hypothesis.tokens, limit), abs=1e-5)


@every
@pytest.mark.parametrize("kind", DECODERS)
def test_the_chance_is_that_of_the_model_at_once(make: Make, kind: str) -> None:
    model, rows, limits = translator(kind), sources(3, 4), [9, 1, 5, 7]
    for row, limit, hypotheses in zip(rows, limits, write(model, make(), asked(rows, limits)), strict=True):
        for hypothesis in hypotheses:
            wanted = log_prob(model, row, hypothesis.tokens, limit)
            assert hypothesis.log_prob == pytest.approx(wanted, abs=1e-4)


@every
@some
@given(seed=SEEDS, shortest=st.integers(1, LONGEST), limit=st.integers(1, LONGEST))
def test_nothing_is_shorter_than_the_shortest(make: Make, seed: int, shortest: int, limit: int) -> None:
    table = Table.random(seed)
    table.logits[..., END] += 20  # it would rather end
    (found,) = table.write(make(min_length=shortest), [limit])
    assert found
    assert all(len(hypothesis.tokens) >= min(shortest, limit) for hypothesis in found)
    (freely,) = table.write(make(), [LONGEST])
    assert any(len(hypothesis.tokens) < LONGEST for hypothesis in freely)


@every
@some
@given(seed=SEEDS, size=st.integers(1, 3), word=st.integers(END + 1, VOCABULARY - 1))
def test_no_group_of_words_comes_twice(make: Make, seed: int, size: int, word: int) -> None:
    table = Table.random(seed)
    table.logits[..., word] += 20  # it would rather say one thing for ever
    table.logits[..., END] -= 20
    assert repeats(table.write(make(), [LONGEST])[0][0].tokens, size)
    (found,) = table.write(make(no_repeat_ngram_size=size), [LONGEST])
    assert found
    assert not any(repeats(hypothesis.tokens, size) for hypothesis in found)


@every
@some
@given(seed=SEEDS)
def test_where_no_word_is_left_a_line_may_be_short(make: Make, seed: int) -> None:
    table = Table.random(seed, 2)
    whole, fewer = table.write(make(no_repeat_ngram_size=1, min_length=LONGEST), [LONGEST, 2])
    assert whole
    assert all(sorted(each.tokens) == [3, 4, 5] for each in whole)
    assert {len(set(each.tokens)) for each in fewer} == {2}
    assert all(isfinite(each.log_prob) for each in [*whole, *fewer])


def test_what_is_barred_is_exactly_what_would_come_again() -> None:
    written = torch.tensor([[3, 4, 3, 4, 5, 3, 4], [3, 3, 3, 3, 3, 3, 3], [3, 4, 5, 6, 7, 8, 9]])
    for size, wanted in enumerate([[{3, 4, 5}, {3}, set(range(3, 10))], [{3, 5}, {3}, set()], [{3, 5}, {3}, set()]], 1):
        logits = torch.zeros(3, 12)
        forbid(logits, written, None, ALL, size)
        for row, words in zip(logits, wanted, strict=True):
            assert set(row.isinf().nonzero().flatten().tolist()) == {PAD, BEGIN} | words
            assert (row[row.isfinite()] == 0).all()


@some
@given(st.data())
def test_what_is_barred_is_what_a_plain_loop_bars(data: st.DataObject) -> None:
    length, size, shortest = (data.draw(st.integers(0, 8)) for _ in range(3))
    row = st.lists(st.integers(3, 5), min_size=length, max_size=length)
    rows = data.draw(st.lists(row, min_size=1, max_size=3))
    logits = torch.randn(len(rows), 7)
    before = logits.clone()
    written = torch.tensor(rows, dtype=torch.long).view(len(rows), length)
    blank = torch.full((len(rows), data.draw(st.integers(0, 3))), BLANK)
    early = torch.arange(len(rows)) if length < shortest else None
    forbid(logits, torch.cat([blank, written], 1), early, Choice(nn.Linear(1, 7), {END}, {PAD, BEGIN}), size)
    for written, old, new in zip(rows, before, logits, strict=True):
        wanted = {word for word in range(3, 7) if size and repeats_now([*written, word], size)}
        wanted |= {PAD, BEGIN} | ({END} if length < shortest else set())
        assert set(new.isinf().nonzero().flatten().tolist()) == wanted
        assert torch.equal(new[new.isfinite()], old[new.isfinite()])


def repeats_now(tokens: list[int], size: int) -> bool:
    """Whether the last words of a line have come before."""
    groups = [tokens[at : at + size] for at in range(len(tokens) - size + 1)]
    return bool(groups) and groups[-1] in groups[:-1]


@pytest.mark.parametrize("size", [1, 3])
def test_a_sentence_that_has_come_to_its_limit_leaves(size: int) -> None:
    limits = [2, 4, 1, 4]
    table = Table.random(7, 4)
    table.write(Beam(beam_size=size, min_length=LONGEST), limits)
    assert table.asked == [4, 3 * size, 2 * size, 2 * size]
    assert {len(tensor) for entry in table.memory for tensor in entry.tensors()} == {2 * size, 2}


def test_a_sentence_leaves_when_as_many_have_ended_as_there_are_beams() -> None:
    ready, talkative = [0.0, 0.0, 0.9, 0.06, 0.03, 0.01], [0.0, 0.0, 1e-9, 0.5, 0.3, 0.2]
    for size, rows in ((1, [3, 2, 2, 2]), (2, [3, 6, 4, 4]), (3, [3, 9, 6, 6])):
        table = Table.constant(talkative, ready, talkative)
        found = table.write(Beam(beam_size=size, n_best=size, length_penalty=0.0), [LONGEST] * 3)
        assert table.asked == rows
        assert lines(found)[1] == [[], [3], [4]][:size]
        assert {len(tokens) for tokens in lines(found)[0] + lines(found)[2]} == {LONGEST}


@pytest.mark.parametrize("make", [Greedy, Sample])
@some
@given(seed=SEEDS, limits=st.lists(st.integers(1, LONGEST), min_size=1, max_size=5))
def test_a_row_that_has_ended_leaves(make: Make, seed: int, limits: list[int]) -> None:
    table = Table.random(seed, len(limits))
    found = table.write(make(), limits)
    taken = [steps(each.tokens, limit) for (each,), limit in zip(found, limits, strict=True)]
    assert table.asked == [sum(count > step for count in taken) for step in range(max(taken))]


@pytest.mark.parametrize("make", [Greedy, SEARCHES["beam-3"]], ids=["greedy", "beam"])
@pytest.mark.parametrize("kind", DECODERS)
@unchecked()
def test_a_sentence_is_translated_alike_in_any_company(make: Make, kind: str) -> None:
    model, rows = translator(kind), sources(5, 7)
    limits = [2 * len(row) + 3 for row in rows]
    wanted = write(model, make(), asked(rows, limits))
    assert len({tuple(each[0].tokens) for each in wanted}) > 2  # not all alike, or nothing would be shown
    orders = [[0], [3], [5], [6, 2, 4], [3, 1, 0, 5, 2, 4, 6], [1, 1, 4]]
    for order in orders:
        found = write(model, make(), asked([rows[row] for row in order], [limits[row] for row in order]))
        for row, hypotheses in zip(order, found, strict=True):
            assert [each.tokens for each in hypotheses] == [each.tokens for each in wanted[row]]
            for one, other in zip(hypotheses, wanted[row], strict=True):
                assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)


WIDE = 9  # words of the tables below
SHORTLIST = torch.tensor([PAD, BEGIN, END, 3, 5, 8])
LEFT_OUT = [4, 6, 7]


def wide(seed: int, sentences: int, rest: float) -> Table:
    """A table in which the words outside the list share the same little chance after every beginning."""
    table = Table.random(seed, sentences, WIDE)
    table.logits[..., :END] = -torch.inf
    table.logits[..., LEFT_OUT] = -torch.inf
    table.logits = table.logits.log_softmax(-1)
    table.logits[..., LEFT_OUT] = torch.tensor(rest / len(LEFT_OUT)).log()
    return table


@every
@few
@given(seed=SEEDS, rest=st.sampled_from([1e-5, 1e-7]))
def test_a_list_that_leaves_out_only_the_unlikely_changes_nothing_but_the_sum(
    make: Make, seed: int, rest: float
) -> None:
    limits = [LONGEST, 2, 3]
    whole = wide(seed, 3, rest).write(make(), limits)
    listed = wide(seed, 3, rest).write(make(), limits, words=SHORTLIST)
    for one, other, limit in zip(whole, listed, limits, strict=True):
        pairs = [(a, b) for a, b in zip(one, other, strict=False) if not set(a.tokens) & set(LEFT_OUT)]
        assert pairs
        for a, b in pairs:
            assert a.tokens == b.tokens
            shift = steps(a.tokens, limit) * float(torch.log1p(torch.tensor(rest)))
            assert b.log_prob == pytest.approx(a.log_prob + shift, abs=1e-5)


@every
@some
@given(seed=SEEDS, no_repeat=st.integers(0, 2))
def test_no_word_outside_the_list_is_written(make: Make, seed: int, no_repeat: int) -> None:
    table = Table.random(seed, 2, WIDE)
    table.logits[..., LEFT_OUT] += 2  # which the model would rather say
    table.logits[..., 8] += 2  # and one thing again and again
    limits = [LONGEST, 3]
    found = table.write(make(no_repeat_ngram_size=no_repeat), limits, words=SHORTLIST)
    for sentence, (hypotheses, limit) in enumerate(zip(found, limits, strict=True)):
        assert hypotheses
        for hypothesis in hypotheses:
            assert set(hypothesis.tokens) <= {3, 5, 8}
            if no_repeat:
                assert not repeats(hypothesis.tokens, no_repeat)
            else:
                wanted = table.log_prob(sentence, hypothesis.tokens, limit, SHORTLIST)
                assert hypothesis.log_prob == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("no_repeat", [1, 2])
def test_a_wide_beam_with_a_list_finds_all_lines_of_listed_words(no_repeat: int) -> None:
    table = Table.random(11, 1, WIDE)
    beam = Beam(beam_size=200, n_best=200, no_repeat_ngram_size=no_repeat)
    (found,) = table.write(beam, [3], words=SHORTLIST)
    wanted = [line for line in lines_of(3, [3, 5, 8]) if not repeats(line, no_repeat)]
    assert sorted(each.tokens for each in found) == sorted(wanted)


def test_a_text_can_end_whatever_the_list_has() -> None:
    choice = Choice(nn.Linear(1, 9), {END, 7}, {PAD}, torch.tensor([5, 3]))
    assert choice.tokens(torch.arange(4)).tolist() == [END, 3, 5, 7]
    assert choice.tokens(choice.stops).tolist() == [END, 7]


def test_columns_are_words_and_words_columns() -> None:
    listed, whole = (Choice(nn.Linear(4, WIDE), {END}, {PAD, BEGIN}, words) for words in (SHORTLIST, None))
    assert listed.tokens(torch.tensor([[2, 5], [3, 4]])).tolist() == [[2, 8], [3, 5]]
    assert whole.tokens(torch.tensor([5, 3])).tolist() == [5, 3]
    columns, known = listed.columns(torch.tensor([8, 4, 3, 7, 2]))
    assert (columns.tolist(), known.tolist()) == ([5, 3, 2], [0, 2, 4])
    assert listed.head(torch.zeros(1, 4)).shape == (1, len(SHORTLIST))
    without = Choice(nn.Linear(4, WIDE), {END, 7}, {PAD}, torch.tensor([3, 5]))  # what ends a text is always listed
    assert without.words.tolist() == [END, 3, 5, 7]
    assert (without.stops.tolist(), without.forbidden.tolist()) == ([0, 3], [])


@every
def test_a_text_ends_where_all_else_was_said(make: Make) -> None:
    """Fewer words than tokens that must be written, and none may come twice; where nothing can end, that is said."""
    search = make(no_repeat_ngram_size=1, min_length=20)
    prompts = [Request([BEGIN, 3 + number], None, 30) for number in range(3)]
    with unchecked():
        for best, *_ in write(language_model(), search, prompts):
            assert best.ended
            assert isfinite(best.log_prob)
            assert sorted(best.tokens) == [*range(END + 1, WORDS)]
        engine = Engine(language_model(), search, stop_tokens=(), forbidden=(PAD, BEGIN))
        with pytest.raises(NoNumbersError, match=r"lower decoding\.no_repeat_ngram_size"):
            engine.write(prompts)
