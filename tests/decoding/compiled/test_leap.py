"""Several steps of a search in one call, beside the same search a step at a time."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from contracts.small import Case, few, small, tokens, unchecked
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.decoding.beam import Beam
from regard.decoding.compiled import steps as chosen
from regard.decoding.compiled.leap import Leap
from regard.decoding.compiled.machine_code import Code
from regard.decoding.compiled.stepper import Stepper, Tables
from regard.decoding.engine import Engine
from regard.decoding.job import StoppedError
from regard.decoding.prefixes import numbered
from regard.decoding.request import Finished, Hypothesis, Request, Token
from regard.decoding.runner import Runner
from regard.decoding.sample import Greedy, Sample
from regard.decoding.search import Search
from regard.decoding.workers import stepped
from regard.errors import NoNumbersError
from regard.model.quantize import quantize

STOPS = [[2], [], [2, 5], [3, 4, 7]]
POSITIONS = ["none", "sinusoidal", "learned", "rotary", "alibi"]


class Given:
    """Machine code that is there, or not."""

    def __init__(self, code: Code | None) -> None:
        self.get = lambda: code


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with unchecked():
        yield


class Leaps:
    """How many steps each call took."""

    def __init__(self) -> None:
        self.taken: list[int] = []

    def __enter__(self) -> "Leaps":
        self._patch, search = pytest.MonkeyPatch(), Stepper.search

        def noted(stepper: Stepper, x: Tensor, tables: Tables, leap: Leap) -> None:
            search(stepper, x, tables, leap)
            self.taken.append(leap.taken)

        self._patch.setattr(Stepper, "search", noted)
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()


def model(kind: str = "seq2seq", positions: str = "sinusoidal", seed: int = 4) -> Any:
    stacks = {"decoder": small("decoder", "transformer", positions=small("positions", positions))}
    if kind == "seq2seq":
        stacks["encoder"] = small("encoder", "transformer", positions=small("positions", "sinusoidal"))
    made = Case(kind, small("model", kind, **stacks)).build(seed)
    with torch.no_grad():
        made.head.weight.mul_(4.0)  # so that some words are likelier than others
    return made


def requests(writer: Any, count: int, seed: int = 0) -> list[Request]:
    """With prompts, sources and limits of several lengths, so that rows come and go."""
    reads = hasattr(writer, "encoder")
    return [
        Request(
            tokens(1, 1 + (number + seed) % 3, number + seed)[0].tolist(),
            tokens(1, 1 + 3 * number % 7, number + seed)[0].tolist() if reads else None,
            max_new_tokens=1 + (7 * number + seed) % 23,
        )
        for number in range(count)
    ]


def written(code: Code | None, asked: list[Request], engine: Engine) -> list[list[Hypothesis]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chosen, "MACHINE_CODE", Given(code))
        engine._job.spare.clear()  # or compiled steps of the last texts would be taken, whatever is given
        return engine.write(asked)


def same(found: list[list[Hypothesis]], wanted: list[list[Hypothesis]], rel: float = 1e-4) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert [(each.tokens, each.ended) for each in one] == [(each.tokens, each.ended) for each in other]
        for name in ("log_prob", "score"):
            assert [getattr(each, name) for each in one] == pytest.approx(
                [getattr(each, name) for each in other], rel=rel, abs=1e-5
            )


@settings(few, max_examples=25)
@given(
    st.sampled_from(["seq2seq", "language_model"]),
    st.sampled_from(POSITIONS),
    st.sampled_from(STOPS),
    st.integers(2, 6),
    st.sampled_from([(0.0, 0), (0.6, 3), (1.0, 0), (1.5, 6)]),
    st.integers(0, 10**6),
)
def test_texts_are_those_of_torch(
    code: Code, kind: str, positions: str, stops: list[int], size: int, lengths: tuple[float, int], seed: int
) -> None:
    """Whatever is asked of a search: length penalties, least lengths, ends, marks that are never written."""
    writer = model(kind, positions, seed=seed % 5)
    beam = Beam(beam_size=size, n_best=1 + seed % size, length_penalty=lengths[0], min_length=lengths[1])
    asked = requests(writer, 1 + seed % 5, seed)
    engine = Engine(writer, beam, stop_tokens=stops, forbidden=[0, 6][: seed % 3], rows=3 * size)
    with Leaps() as leaps:
        wanted = written(None, asked, engine)
        assert not leaps.taken
        same(written(code, asked, engine), wanted)
    assert leaps.taken or all(request.max_new_tokens == 1 for request in asked)


@settings(few, max_examples=25)
@given(
    st.sampled_from(["seq2seq", "language_model"]),
    st.sampled_from(POSITIONS),
    st.sampled_from(STOPS),
    st.integers(0, 5),
    st.integers(0, 10**6),
)
def test_the_likeliest_words_are_those_of_torch(
    code: Code, kind: str, positions: str, stops: list[int], shortest: int, seed: int
) -> None:
    """A greedy search goes on past sentences that end; every token is told once, in its order, with its own log P."""
    writer = model(kind, positions, seed=seed % 5)
    asked = requests(writer, 1 + seed % 9, seed)
    engine = Engine(writer, Greedy(min_length=shortest), stop_tokens=stops, forbidden=[0, 6][: seed % 3], rows=5)
    wanted = told(None, asked, engine)
    with Leaps() as leaps:
        found = told(code, asked, engine)
    assert found.keys() == wanted.keys() == {*range(len(asked))}
    for place in found:
        tokens, chances, hypothesis = found[place]
        assert (tokens, hypothesis.tokens, hypothesis.ended) == (
            wanted[place][0],
            wanted[place][2].tokens,
            wanted[place][2].ended,
        )
        assert tokens == hypothesis.tokens
        assert chances == pytest.approx(wanted[place][1], rel=1e-4, abs=1e-5)
        assert hypothesis.log_prob == pytest.approx(wanted[place][2].log_prob, rel=1e-4, abs=1e-5)
        assert hypothesis.score == pytest.approx(hypothesis.log_prob / (len(tokens) + hypothesis.ended))
    assert leaps.taken or all(request.max_new_tokens == 1 for request in asked)


@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=1), Beam(beam_size=3)], ids=["greedy", "one", "beam"])
@pytest.mark.parametrize("count", [1, 3, 17])
@pytest.mark.parametrize("others", [0, 2])
def test_prompts_that_are_the_same_go_on_apart(code: Code, search: Search, count: int, others: int) -> None:
    """Also where all but their last token was read once for all of them."""
    writer = model("language_model", "rotary")
    prompt = tokens(1, 20, 3)[0].tolist()
    asked = [Request(prompt, None, 9) for _ in range(count)] + [Request([*prompt[:-1], 4], None, 7)] * others
    engine = Engine(writer, search, stop_tokens=[2])
    apart = [found for request in asked for found in written(None, [request], engine)]
    with Leaps() as leaps:
        same(written(code, asked, engine), apart)
    assert leaps.taken


def told(
    code: Code | None, asked: list[Request], engine: Engine
) -> dict[int, tuple[list[int], list[float], Hypothesis]]:
    """Of every request the tokens it was told of, log P of each, and what it came to."""
    tokens: dict[int, list[Token]] = {place: [] for place in range(len(asked))}
    done: dict[int, Hypothesis] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chosen, "MACHINE_CODE", Given(code))
        for event in engine.generate(asked):
            assert event.place not in done
            if isinstance(event, Finished):
                done[event.place] = event.hypotheses[0]
            else:
                tokens[event.place].append(event)
    return {
        place: ([each.token for each in tokens[place]], [each.log_prob for each in tokens[place]], done[place])
        for place in done
    }


@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=3)], ids=str)
def test_sentences_that_are_done_leave_and_the_others_go_on(code: Code, threads: int, search: Search) -> None:
    """All at once, one call from the first token that each says for itself to the last of the longest."""
    writer = model()
    asked = [Request([1], [5, 6, 7, 3][number % 4 :], 2 + 3 * (number % 7)) for number in range(12)]
    engine = Engine(writer, search, stop_tokens=[2], rows=12 * search.hypotheses)
    runner = Runner(engine._job, 12)
    with pytest.MonkeyPatch.context() as patch, Leaps() as leaps:
        patch.setattr(chosen, "MACHINE_CODE", Given(code))
        events = list(stepped(runner, numbered(asked)))
    found = {event.place: event.hypotheses for event in events if isinstance(event, Finished)}
    same([found[place] for place in range(12)], written(None, asked, engine))
    assert len(leaps.taken) == 1
    assert leaps.taken[0] >= 19


def test_whoever_waits_is_let_in_when_few_are_left(code: Code) -> None:
    """Of eight slots one may be taken still; nobody waits for the longest."""
    writer = model()
    asked = [Request([1], [5, 6, 7, 3], count) for count in (2, 3, 4, 5, 6, 7, 8, 30, 4, 4)]
    engine = Engine(writer, Greedy(), stop_tokens=[], rows=8)
    runner, order = Runner(engine._job, 8), list[int]()
    with pytest.MonkeyPatch.context() as patch, Leaps() as leaps:
        patch.setattr(chosen, "MACHINE_CODE", Given(code))
        order += [event.place for event in stepped(runner, numbered(asked)) if isinstance(event, Finished)]
    assert order == [0, 1, 2, 3, 4, 5, 6, 8, 9, 7]
    assert leaps.taken[0] == 8


@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=2, n_best=2)], ids=str)
def test_whoever_joins_later_has_written_nothing_of_what_was_there(code: Code, search: Search) -> None:
    """Beside one who has written much more, and who goes on with what it wrote."""
    writer = model(positions="alibi")
    asked = [Request([1], [5, 6, 7, 3][number % 3 :], count) for number, count in enumerate([4] * 7 + [40, 9, 9, 5])]
    engine = Engine(writer, search, stop_tokens=[], rows=8 * search.hypotheses)
    runner = Runner(engine._job, 8)
    with pytest.MonkeyPatch.context() as patch, Leaps() as leaps:
        patch.setattr(chosen, "MACHINE_CODE", Given(code))
        done = {each.place: each.hypotheses for each in stepped(runner, numbered(asked)) if isinstance(each, Finished)}
    assert leaps.taken[-2:] == [1, 31]  # the first step of those who join is theirs alone
    same([done[place] for place in range(len(asked))], written(None, asked, engine))


@few
@given(st.sampled_from([[2], [2, 5]]), st.integers(0, 10**6))
def test_a_step_at_a_time_scores_are_the_same(code: Code, stops: list[int], seed: int) -> None:
    """With the same machine code for all else, nothing but the last places can differ."""
    writer, beam = model(seed=seed % 7), Beam(beam_size=4, n_best=4)
    engine, asked = Engine(writer, beam, stop_tokens=stops, rows=8), requests(writer, 5, seed)
    found = written(code, asked, engine)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Beam, "beams", Search.beams)
        same(found, written(code, asked, engine), rel=1e-6)


@pytest.mark.parametrize("eight", [False, True])
def test_one_text_after_another(code: Code, threads: int, eight: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One call takes as many steps as it may; a memory that has to grow on the way does."""
    monkeypatch.setattr(chosen, "ALONE", 0)
    writer = model(positions="alibi")
    if eight:
        quantize(writer)
    asked = [Request([1], [5, 6, 7, 3], max_new_tokens=count) for count in (1, 9, 70)]
    engine = Engine(writer, Beam(beam_size=5), stop_tokens=[], rows=5)
    with Leaps() as leaps:
        found = [written(code, [each], engine)[0] for each in asked]
    assert leaps.taken == [1, 9, chosen.STEPS, chosen.STEPS, 70 - 2 * chosen.STEPS]
    assert [len(each[0].tokens) for each in found] == [1, 9, 70]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Beam, "beams", Search.beams)
        same([written(code, [each], engine)[0] for each in asked], found)


def test_only_what_a_shortlist_has_is_written(code: Code) -> None:
    writer, words = model(), torch.tensor([4, 7, 8, 11])
    engine = Engine(writer, Beam(beam_size=3, n_best=3), stop_tokens=[2], shortlist=lambda _: words)
    asked = [Request([1], [5, 6, 3], 12), Request([1], [9, 3], 12)]
    with Leaps() as leaps:
        found = written(code, asked, engine)
    assert leaps.taken
    same(found, written(None, asked, engine))
    assert {token for some in found for each in some for token in each.tokens} <= set(words.tolist())


@pytest.mark.parametrize(
    "search",
    [
        Beam(beam_size=3, no_repeat_ngram_size=2),
        Greedy(no_repeat_ngram_size=2),
        Greedy(repetition_penalty=1.2),
        Sample(temperature=0.5),
    ],
    ids=str,
)
def test_what_is_not_covered_goes_a_step_at_a_time(code: Code, search: Search) -> None:
    writer = model()
    engine, asked = Engine(writer, search, stop_tokens=[2]), [Request([1], [5, 6, 3], 12)]
    with Leaps() as leaps:
        same(written(code, asked, engine), written(None, asked, engine))
    assert not leaps.taken


def test_a_text_halts_after_the_very_token_that_its_reader_says(code: Code) -> None:
    """Nothing is written behind it, as several steps at once would."""
    writer, seen = model(), list[int]()
    engine = Engine(writer, Greedy(), stop_tokens=[])
    asked = [Request([1], [5, 6, 3], 12, halted=lambda: len(seen) >= 4), Request([1], [5, 6, 3], 12)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chosen, "MACHINE_CODE", Given(code))
        done = dict[int, Hypothesis]()
        for event in engine.generate(asked):
            if isinstance(event, Finished):
                done[event.place] = event.hypotheses[0]
            elif event.place == 0:
                seen.append(event.token)
    assert len(done[1].tokens) == 12
    assert done[0].tokens == seen == done[1].tokens[: len(seen)]
    assert len(seen) == 5  # it is asked before the last one is handed out


def test_a_window_goes_a_step_at_a_time(code: Code) -> None:
    decoder = small("decoder", "transformer", pattern=small("pattern", "window"))
    writer = Case("seq2seq", small("model", "seq2seq", decoder=decoder)).build(3)
    engine, asked = Engine(writer, Beam(beam_size=3), stop_tokens=[2]), [Request([1], [5, 6, 3], 12)]
    with Leaps() as leaps:
        same(written(code, asked, engine), written(None, asked, engine))
    assert not leaps.taken


def test_whoever_wants_it_to_end_is_heard_between_two_calls(code: Code) -> None:
    writer, asked = model(), list[int]()

    def stopped() -> bool:
        asked.append(1)
        return len(asked) > 2

    engine = Engine(writer, Beam(beam_size=4), stop_tokens=[], stopped=stopped)
    with Leaps() as leaps, pytest.raises(StoppedError):
        written(code, [Request([1], [5, 3], 400)] * 2, engine)
    assert leaps.taken == [chosen.STEPS] * 2


@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=4)], ids=str)
@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
def test_weights_that_are_no_numbers_are_told(code: Code, wrong: float, search: Search) -> None:
    writer = model()
    with torch.no_grad():
        writer.head.weight[:] = wrong
    with pytest.raises(NoNumbersError, match="not numbers"):
        written(code, [Request([1], [5, 3], 9)], Engine(writer, search, stop_tokens=[2]))
