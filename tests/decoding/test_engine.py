"""The engine: every request is answered as if it were alone, as soon as can be, whoever comes and goes."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
import torch
from chances import (
    BEGIN,
    DECODERS,
    END,
    LONGEST,
    PAD,
    Table,
    asked,
    language_model,
    lines,
    sources,
    translator,
    unchecked,
    write,
)
from torch import Tensor

from regard.decoding.beam import Beam
from regard.decoding.engine import Engine
from regard.decoding.job import StoppedError
from regard.decoding.request import Finished, Hypothesis, Request, Token
from regard.decoding.sample import Greedy, Sample
from regard.decoding.search import Search
from regard.errors import FailedError, InputError
from regard.model.build import build

MARKS: dict[str, Any] = {"stop_tokens": {END}, "forbidden": {PAD, BEGIN}}
SEARCHES: dict[str, Search] = {
    "greedy": Greedy(),
    "sample": Sample(seed=3),
    "beam": Beam(beam_size=3, n_best=3),
    "careful": Beam(beam_size=2, n_best=2, min_length=4, no_repeat_ngram_size=1),
    "greedily careful": Greedy(min_length=3, no_repeat_ngram_size=2),
}
searches = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with unchecked():
        yield


@pytest.fixture
def threads() -> Iterator[Any]:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def requests(rows: int = 11, seed: int = 5) -> list[Request]:
    texts = sources(seed, rows)
    return asked(texts, [2 * len(row) + 3 for row in texts])


def prompts() -> list[Request]:
    """Beginnings of many lengths."""
    random = torch.Generator().manual_seed(4)
    lengths = [1, 4, 2, 9, 4, 1, 3, 6]
    tokens = [torch.randint(3, 11, (length - 1,), generator=random).tolist() for length in lengths]
    return [Request([BEGIN, *some], None, 9, number) for number, some in enumerate(tokens)]


def same(found: list[list[Hypothesis]], wanted: list[list[Hypothesis]]) -> None:
    assert lines(found) == lines(wanted)
    for some, others in zip(found, wanted, strict=True):
        assert [each.log_prob for each in some] == pytest.approx([each.log_prob for each in others], abs=1e-4)


@searches
@pytest.mark.parametrize("kind", DECODERS)
def test_few_slots_filled_again_write_what_many_write(kind: str, search: Search) -> None:
    model, given = translator(kind), requests(rows=7)
    wanted = [found for request in given for found in write(model, search, [request])]
    assert len({tuple(each[0].tokens) for each in wanted}) > 2
    for rows in (3, 9, 1000):
        same(write(model, search, given, rows=rows), wanted)


@searches
def test_prompts_of_many_lengths_are_gone_on_with_together(search: Search) -> None:
    model, given = language_model(), prompts()
    wanted = [found for request in given for found in write(model, search, [request])]
    for rows in (4, 1000):
        same(write(model, search, given, rows=rows), wanted)


@searches
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_streaming_is_writing_at_once(search: Search, workers: int, threads: Any) -> None:
    model, given = translator("transformer"), requests(rows=25)
    wanted = write(model, search, given)
    threads(workers)
    events = list(Engine(model, search, rows=9, **MARKS).generate(given))
    assert torch.get_num_threads() == workers
    told: list[list[Token]] = [[] for _ in given]
    done: dict[int, list[Hypothesis]] = {}
    for event in events:
        if isinstance(event, Finished):
            assert event.place not in done
            done[event.place] = event.hypotheses
        else:
            assert event.place not in done  # nothing comes after the end
            told[event.place].append(event)
    same([done[place] for place in range(len(given))], wanted)
    for tokens, (best, *_) in zip(told, wanted, strict=True):
        if search.hypotheses > 1:
            assert not tokens
        else:
            assert [each.token for each in tokens] == best.tokens
            assert sum(each.log_prob for each in tokens) >= best.log_prob - 1e-4  # the end costs something too


def test_tokens_come_as_they_are_written() -> None:
    """The first tokens of all come before the second of any, and finished ones make room before the others end."""
    table = Table.random(3, 8)
    engine = Engine(table, Greedy(min_length=LONGEST), rows=4, **MARKS)
    events = engine.generate([Request([BEGIN], [at], 2 + at % 3) for at in range(8)])
    first = [next(events) for _ in range(4)]
    assert [event.place for event in first] == [0, 1, 2, 3]
    assert table.asked == [4]
    rest = list(events)
    finished = [event.place for event in rest if isinstance(event, Finished)]
    assert set(finished) == set(range(8))
    started = next(at for at, event in enumerate(rest) if event.place == 4)
    assert started < max(at for at, event in enumerate(rest) if event.place == 2)


def test_no_more_rows_than_there_is_room_for_take_a_step() -> None:
    """Also where those who wait join others that are not done."""
    table = Table.random(3, 9)
    requests = [Request([BEGIN], [at], 2 + 2 * (at % 2)) for at in range(9)]
    assert len(Engine(table, Greedy(min_length=LONGEST), rows=4, **MARKS).write(requests)) == 9
    assert max(table.asked) == 4


@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=3)], ids=["greedy", "beam"])
def test_requests_may_come_at_any_time(search: Search) -> None:
    model, given = translator("transformer"), requests(rows=9)
    wanted = write(model, search, given)
    engine, found = Engine(model, search, rows=15, **MARKS), {}
    assert not engine.busy
    assert engine.step() == []
    assert list(engine.add(given[:3])) == [0, 1, 2]
    for turn in count():
        if turn in (1, 2, 5):
            later = 3 + 2 * (1, 2, 5).index(turn)
            assert list(engine.add(given[later : later + 2])) == [later, later + 1]
        found |= {event.place: event.hypotheses for event in engine.step() if isinstance(event, Finished)}
        if turn > 5 and not engine.busy:
            break
    same([found[place] for place in range(9)], wanted)


def test_an_endless_stream_needs_bounded_memory() -> None:
    model = language_model()
    engine = Engine(model, Beam(beam_size=2, min_length=5), rows=6, **MARKS)
    sizes = []
    for turn in range(60):
        engine.add([Request([BEGIN, 3 + turn % 7], None, 5 + turn % 4)])
        engine.step()
        engine.step()
        group = engine._line._group
        sizes.append(0 if group is None else group._memory.nbytes)
        assert group is None or group._memory.length < 30
        assert group is None or group.running.written.shape[1] < 30
    assert max(sizes[30:]) <= max(sizes[:30])


@searches
def test_a_row_ends_where_the_positions_end(search: Search) -> None:
    decoder = {"kind": "transformer", "layers": 1, "positions": {"kind": "learned", "limit": 7}}
    torch.manual_seed(0)
    model = build({"model": {"kind": "language_model", "vocab_size": 11, "width": 16, "decoder": decoder}}).eval()
    with torch.no_grad():
        model.head.weight[END] = -50.0 * model.head.weight[3:].mean(0)
    given = [Request([BEGIN, *[4] * more], None, 50, more) for more in (0, 3, 5, 1)]
    for rows in (2, 1000):
        for request, found in zip(given, write(model, search, given, rows=rows), strict=True):
            assert max(len(each.tokens) for each in found) <= 7 - len(request.prompt)
    with pytest.raises(InputError, match="a prompt of 7 tokens is too long: the model takes in 7"):
        write(model, search, [Request([BEGIN] * 7)])


def test_any_of_several_tokens_ends_a_text() -> None:
    model, given = translator("transformer"), requests()
    free = write(model, Greedy(), given)
    usual = max((token for (each,) in free for token in each.tokens), key=lambda token: sum(
        token in each.tokens for (each,) in free
    ))  # fmt: skip
    engine = Engine(model, Greedy(), stop_tokens={END, usual}, forbidden={PAD, BEGIN})
    for (whole,), (cut,) in zip(free, engine.write(given), strict=True):
        tokens = whole.tokens
        assert cut.tokens == (tokens[: tokens.index(usual)] if usual in tokens else tokens)
    table = Table.random(5)
    beam = Beam(beam_size=130, n_best=130)
    (found,) = Engine(table, beam, stop_tokens={END, 5}, forbidden={PAD, BEGIN}).write([Request([BEGIN], [0], 3)])
    assert len(found) == len({(tuple(each.tokens), round(each.log_prob, 4)) for each in found})
    assert {token for each in found for token in each.tokens} == {3, 4}
    assert sum(len(each.tokens) < 3 for each in found) == 2 * (1 + 2 + 4)  # each can end in two ways


@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=2)], ids=["greedy", "beam"])
def test_a_shortlist_may_change_whenever_others_join(search: Search) -> None:
    """Every request calls for two words of its own; with whom it shares its list depends on the slots."""
    table, own = Table.random(2, 6, 9), {at: [3 + at % 6, 3 + (at + 1) % 6] for at in range(6)}
    asked_for: list[list[int]] = []

    def shortlist(some: Any) -> Tensor:
        asked_for.append([request.number for request in some])
        return torch.tensor(sorted({word for request in some for word in own[request.number]}))

    given = [Request([BEGIN], [at], 2 + at % 3, at) for at in range(6)]
    engine = Engine(table, search, rows=2 * search.hypotheses, shortlist=shortlist, **MARKS)
    found = engine.write(given)
    assert len(asked_for) > 2
    allowed = {at: {word for some in asked_for if at in some for other in some for word in own[other]} for at in own}
    for at, hypotheses in enumerate(found):
        assert hypotheses
        assert all(set(each.tokens) <= allowed[at] for each in hypotheses)


@pytest.mark.parametrize("kind", ["additive", "window", "transformer"])
def test_chance_is_the_same_in_any_company(kind: str) -> None:
    model, given, search = translator(kind), requests(), Sample(seed=8, temperature=2.0)
    wanted = write(model, search, given)
    assert lines(write(model, search, given[::-1], rows=3))[::-1] == lines(wanted)
    assert lines(write(model, search, given[4:5])) == lines(wanted[4:5])


@pytest.mark.parametrize("workers", [1, 2])
def test_whoever_is_stopped_stops(workers: int, threads: Any) -> None:
    threads(workers)
    model, asked_times = translator("transformer"), count()
    engine = Engine(model, Greedy(), stopped=lambda: next(asked_times) > 4, **MARKS)
    with pytest.raises(StoppedError):
        engine.write(requests(rows=20))
    assert torch.get_num_threads() == workers


def test_whoever_does_not_listen_any_more_ends_the_work(threads: Any) -> None:
    threads(2)
    events = Engine(translator("transformer"), Greedy(), **MARKS).generate(requests(rows=40))
    assert isinstance(next(events), Token)
    events.close()
    assert torch.get_num_threads() == 2


@searches
@pytest.mark.parametrize("workers", [1, 2])
def test_scores_that_are_not_numbers_are_said(search: Search, workers: int, threads: Any) -> None:
    threads(workers)
    table = Table(torch.full((20, 6**LONGEST, 6), torch.nan))
    with pytest.raises(FailedError, match="not numbers"):
        table.write(search, [LONGEST] * 20)


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(ValueError, match="prompt"):
        Request([])
    with pytest.raises(ValueError, match="max_new_tokens"):
        Request([BEGIN], None, 0)
    assert write(translator("transformer"), Greedy(), []) == []


def test_with_and_without_a_source_is_not_written_together() -> None:
    """Or one would be answered with the source of the other."""
    mixed = [Request([BEGIN], [3, 4, END], 5), Request([BEGIN], None, 5)]
    with pytest.raises(ValueError, match="cannot be written together"):
        Engine(translator("transformer"), Greedy(), **MARKS).write(mixed)


@searches
@pytest.mark.parametrize("rows", [1, 4, 320])
def test_no_line_is_stuck(search: Search, rows: int) -> None:
    """Every step of a line writes for somebody: there are no more of them than all texts have tokens, and an end."""
    texts = [Request([BEGIN], row, 5, number) for number, row in enumerate(sources(1, 7))]
    engine = Engine(translator("transformer"), search, rows=rows, **MARKS)
    engine.add(texts)
    done = 0
    for _ in range(sum(text.max_new_tokens + 1 for text in texts)):
        done += sum(isinstance(event, Finished) for event in engine.step())
    assert not engine.busy
    assert done == len(texts)
