"""Beam search beside a search of everything, and the largest of a row beside torch's."""

from typing import Any

import pytest
import torch
from chances import (
    BEGIN,
    DECODERS,
    END,
    LONGEST,
    Table,
    asked,
    few,
    language_model,
    lines,
    lines_of,
    repeats,
    some,
    sources,
    steps,
    translator,
    write,
)
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.decoding.beam import Beam
from regard.decoding.request import Request
from regard.decoding.sample import Greedy
from regard.decoding.top import BLOCK, top

SEEDS = st.integers(0, 10**6)
ALL = 130  # more than there are lines of three words up to four long


@few
@given(SEEDS, st.lists(st.integers(1, LONGEST), min_size=1, max_size=3), st.sampled_from([0.0, 0.6, 1.0, 1.5]))
def test_a_wide_beam_finds_everything_in_order(seed: int, limits: list[int], length: float) -> None:
    table = Table.random(seed, len(limits))
    found = table.write(Beam(beam_size=ALL, n_best=ALL, length_penalty=length), limits)
    for sentence, (hypotheses, limit) in enumerate(zip(found, limits, strict=True)):
        wanted = [
            (chance / steps(line, limit) ** length, chance, line) for line, chance in table.everything(sentence, limit)
        ]
        wanted.sort(key=lambda each: -each[0])
        assert [each.tokens for each in hypotheses] == [line for *_, line in wanted]
        assert [each.log_prob for each in hypotheses] == pytest.approx([chance for _, chance, _ in wanted], abs=1e-5)
        assert [each.score for each in hypotheses] == pytest.approx([score for score, *_ in wanted], abs=1e-5)


@pytest.mark.parametrize("kind", DECODERS)
def test_a_wide_beam_finds_the_best_a_model_could_write(kind: str) -> None:
    """Three words of the model's many are in question: everything of them can be tried."""
    model, rows, limit = translator(kind), sources(1, 2), 3
    words = torch.tensor([0, 1, END, 4, 7, 9])
    found = write(model, Beam(beam_size=45, length_penalty=0.0), asked(rows, [limit] * 2), words)
    for row, (best,) in zip(rows, found, strict=True):
        tried = all_of(model, row, words, limit)
        wanted = max(tried, key=lambda line: tried[line])
        assert tuple(best.tokens) == wanted
        assert best.log_prob == pytest.approx(tried[wanted], abs=1e-4)


def all_of(model: Any, row: list[int], words: Tensor, limit: int) -> dict[tuple[int, ...], float]:
    """log P of every line of these words, if no others can be said: all lines at once."""
    tried = list(lines_of(limit, words[END + 1 :].tolist()))
    target = torch.tensor([[*line, *[END] * (limit - len(line))] for line in tried])
    given = torch.cat([torch.full((len(tried), 1), BEGIN), target[:, :-1]], 1)
    logits = model(torch.tensor([row] * len(tried)), given)
    inside = torch.full_like(logits, -torch.inf)
    inside[..., words[END:]] = logits[..., words[END:]]
    each = inside.log_softmax(-1).gather(2, target[..., None]).squeeze(2)
    return {tuple(line): float(row[: steps(line, limit)].sum()) for line, row in zip(tried, each, strict=True)}


@some
@given(SEEDS, st.integers(1, 12), st.sampled_from([0.0, 0.6, 1.0]), st.data())
def test_the_best_come_first_and_each_once(seed: int, size: int, length: float, data: st.DataObject) -> None:
    best = data.draw(st.integers(1, size))
    table = Table.random(seed, 3)
    limits = [LONGEST, 2, 3]
    whole = table.write(Beam(beam_size=size, n_best=size, length_penalty=length), limits)
    for hypotheses, limit in zip(whole, limits, strict=True):
        scores = [each.score for each in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(each.tokens) for each in hypotheses}) == len(hypotheses) <= size
        for each in hypotheses:
            assert each.score == pytest.approx(each.log_prob / steps(each.tokens, limit) ** length, rel=1e-6)
    cut = table.write(Beam(beam_size=size, n_best=best, length_penalty=length), limits)
    assert lines(cut) == [each[:best] for each in lines(whole)]


@some
@given(SEEDS, st.integers(1, 12))
def test_a_beam_keeps_what_a_plain_beam_keeps(seed: int, size: int) -> None:
    table = Table.random(seed)
    (found,) = table.write(Beam(beam_size=size, n_best=size, length_penalty=0.0), [LONGEST])
    wanted = plainly(table, size, LONGEST)
    assert [each.tokens for each in found] == [line for line, _ in wanted]
    assert [each.log_prob for each in found] == pytest.approx([chance for _, chance in wanted], abs=1e-5)


def plainly(table: Table, size: int, limit: int) -> list[tuple[list[int], float]]:
    """Beam search with lists: those that end among the best K are noted, the K best others go on."""
    going: list[tuple[list[int], float]] = [([], 0.0)]
    ended: list[tuple[list[int], float]] = []
    for step in range(1, limit + 1):
        further = []
        for line, chance in going:
            logits = table.after(0, line)[END:].log_softmax(-1).tolist()
            further += [([*line, word], chance + more) for word, more in enumerate(logits, END)]
        further.sort(key=lambda each: -each[1])
        ended += [(line, chance) for line, chance in further[:size] if line[-1] == END or step == limit]
        going = [each for each in further if each[0][-1] != END][:size]
        if len(ended) >= size:
            break
    ended.sort(key=lambda each: -each[1])
    return [([word for word in line if word != END], chance) for line, chance in ended[:size]]


@some
@given(SEEDS, st.sampled_from([0.0, 1.0, 2.0]))
def test_one_beam_writes_what_is_likeliest_at_every_step(seed: int, length: float) -> None:
    limits = [LONGEST, 3, 1]
    one = Table.random(seed, 3).write(Beam(beam_size=1, length_penalty=length), limits)
    other = Table.random(seed, 3).write(Greedy(), limits)
    assert lines(one) == lines(other)
    for (a,), (b,) in zip(one, other, strict=True):
        assert a.log_prob == pytest.approx(b.log_prob, abs=1e-5)


@pytest.mark.parametrize("shortest", [0, 2, 3])
@pytest.mark.parametrize("no_repeat", [0, 1, 2])
def test_a_wide_beam_bars_no_more_than_it_must(shortest: int, no_repeat: int) -> None:
    (found,) = Table.random(5).write(
        Beam(beam_size=ALL, n_best=ALL, min_length=shortest, no_repeat_ngram_size=no_repeat), [3]
    )
    wanted = [line for line in lines_of(3) if len(line) >= shortest and not (no_repeat and repeats(line, no_repeat))]
    assert sorted(each.tokens for each in found) == sorted(wanted)


@pytest.mark.parametrize("size", [2, 3, 8])
def test_a_beginning_that_nothing_can_follow_is_given_up(size: int) -> None:
    table = Table.random(4)
    table.after(0, [])[3] = 9.0  # the likeliest of all
    table.after(0, [3])[:] = -torch.inf
    (found,) = table.write(Beam(beam_size=size, n_best=size), [LONGEST])
    assert len(found) == size
    for each in found:
        assert each.tokens[:1] != [3]
        assert each.log_prob == pytest.approx(table.log_prob(0, each.tokens, LONGEST), abs=1e-5)


def test_a_language_model_goes_on_from_what_it_is_given() -> None:
    """Without a source, after several tokens, and not as many for all."""
    model = language_model()
    prompts = [[BEGIN, 4, 5], [BEGIN, 6], [BEGIN, 4, 9], [BEGIN, 7, 7, 3, 8]]
    requests, beam = [Request(prompt, None, 6) for prompt in prompts], Beam(beam_size=4, n_best=4)
    found = write(model, beam, requests)
    assert len({tuple(each[0].tokens) for each in found}) > 1
    for request, hypotheses in zip(requests, found, strict=True):
        (alone,) = write(model, beam, [request])
        assert [each.tokens for each in alone] == [each.tokens for each in hypotheses]
        for each in hypotheses:
            line = each.tokens if len(each.tokens) == 6 else [*each.tokens, END]
            logits = model(torch.tensor([[*request.prompt, *line]]))[0, len(request.prompt) - 1 : -1].clone()
            logits[:, :END] = -torch.inf
            wanted = float(logits.log_softmax(-1)[range(len(line)), line].sum())
            assert each.log_prob == pytest.approx(wanted, abs=1e-4)


def test_more_than_there_are_beams_cannot_be_asked_for() -> None:
    with pytest.raises(ValueError, match="a beam of 2 has no 3 best"):
        Beam(beam_size=2, n_best=3)


SHAPES = st.tuples(st.integers(1, 4), st.one_of(st.integers(1, 300), st.integers(20 * BLOCK, 24 * BLOCK + 5)))


@some
@given(SHAPES, SEEDS, st.sampled_from(["normal", "ties", "barred", "alike", "mostly barred"]), st.data())
def test_the_largest_are_those_torch_finds(shape: tuple[int, int], seed: int, values: str, data: st.DataObject) -> None:
    random = torch.Generator().manual_seed(seed)
    count = data.draw(st.integers(1, min(12, shape[1])))
    logits = torch.randn(shape, generator=random)
    if values == "ties":
        logits = torch.randint(3, shape, generator=random).float()
    if values == "alike":
        logits = torch.zeros(shape)
    if "barred" in values:
        share = 0.5 if values == "barred" else 0.999
        logits[torch.rand(shape, generator=random) < share] = -torch.inf
    before = logits.clone()
    found, columns = top(logits, count)
    assert torch.equal(found, logits.topk(count).values)
    assert torch.equal(logits.gather(1, columns), found)
    assert all(len(set(row)) == count for row in columns.tolist())
    assert torch.equal(logits, before)


@pytest.mark.parametrize("extra", [0, 1, BLOCK - 1])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_the_largest_are_found_wherever_they_stand(extra: int, count: int) -> None:
    """In one block, in the last, in what is left over: every column in turn."""
    size = (2 * count + 1) * BLOCK + extra
    logits = torch.randn(size, size, generator=torch.Generator().manual_seed(0))
    logits[range(size), range(size)] = 10.0
    logits[range(size), [(column * 7 + 1) % size for column in range(size)]] += 5.0
    found, columns = top(logits, count)
    assert torch.equal(found, logits.topk(count).values)
    assert columns[:, 0].tolist() == logits.argmax(1).tolist()
