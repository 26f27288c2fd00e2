"""Speculative decoding writes what the large model would write: the same text, or one with the same chances."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest
import torch
from chances import BEGIN, END, PAD, WIDTH, WORDS, _opinionated, unchecked

from regard.decoding.beam import Beam
from regard.decoding.choice import Choice
from regard.decoding.compiled.steps import CompiledSteps
from regard.decoding.draft import MOST, Draft, Guesser
from regard.decoding.engine import Engine
from regard.decoding.request import Drafted, Finished, Hypothesis, Request, Token
from regard.decoding.sample import Greedy, Sample
from regard.decoding.search import Search
from regard.decoding.speculative import judged
from regard.errors import FailedError, InputError
from regard.model.build import build

MARKS: dict[str, Any] = {"stop_tokens": {END}, "forbidden": {PAD, BEGIN}}
STACKS: dict[str, dict[str, Any]] = {
    "transformer": {"kind": "transformer", "layers": 2, "attention": {"kind": "multihead", "heads": 2}},
    "rotary": {
        "kind": "transformer",
        "layers": 2,
        "attention": {"kind": "multihead", "heads": 4, "kv_heads": 2},
        "positions": {"kind": "rotary"},
        "mlp": {"kind": "swiglu"},
    },
    "window": {
        "kind": "transformer",
        "layers": 2,
        "pattern": {"kind": "window", "width": 5},
        "positions": {"kind": "alibi"},
    },
    "narrow": {"kind": "transformer", "layers": 1, "pattern": {"kind": "local_global", "width": 2, "first": 1}},
    "experts": {"kind": "transformer", "layers": 1, "mlp": {"kind": "experts", "experts": 3, "active": 2}},
    "linear": {"kind": "transformer", "layers": 1, "attention": {"kind": "linear", "heads": 2}},
    "lstm": {"kind": "recurrent", "cell": "lstm", "layers": 2},
    "gru": {"kind": "recurrent", "cell": "gru"},
    "convolution": {"kind": "convolution", "layers": 2},
}
PROMPTS = [[BEGIN], [BEGIN, 4, 7, 3], [BEGIN, 9, 9, 5, 3, 8, 4], [BEGIN, 4, 7, 3]]


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with unchecked():
        yield


def model(stack: str, seed: int = 3, words: int = WORDS, **more: Any) -> Any:
    torch.manual_seed(seed)
    sizes = {"vocab_size": words, "width": WIDTH, "tie_embeddings": "none"}
    return _opinionated(build({"model": {"kind": "language_model", "decoder": STACKS[stack] | more} | sizes}))


def near(large: Any, stack: str, noise: float = 0.15) -> Any:
    """A model that mostly agrees."""
    other = model(stack)
    torch.manual_seed(8)
    with torch.no_grad():
        for mine, its in zip(other.parameters(), large.parameters(), strict=True):
            mine.copy_(its + noise * its.std() * torch.randn_like(its) if its.numel() > 1 else its)
    return other


def requests(tokens: int = 24, numbers: Sequence[int] = range(4)) -> list[Request]:
    return [Request(prompt, None, tokens, number) for prompt, number in zip(PROMPTS, numbers, strict=True)]


def write(large: Any, search: Search, given: list[Request], draft: Draft | None = None) -> list[Hypothesis]:
    return [found for (found,) in Engine(large, search, draft=draft, **MARKS).write(given)]


def counted(found: list[Hypothesis]) -> Drafted:
    return sum((each.drafted for each in found if each.drafted is not None), Drafted())


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize(("drafted", "tokens"), [("transformer", 0), ("narrow", 5), ("lstm", 3)])
def test_greedy_is_the_very_same_text(stack: str, drafted: str, tokens: int) -> None:
    large, given = model(stack), requests()
    wanted = write(large, Greedy(min_length=20, no_repeat_ngram_size=3), given)
    assert all(len(set(each.tokens)) > 2 for each in wanted)
    for small in (model(drafted, seed=5), near(large, stack)):
        found = write(large, Greedy(min_length=20, no_repeat_ngram_size=3), given, Draft(small, tokens))
        assert [each.tokens for each in found] == [each.tokens for each in wanted]
        assert [each.ended for each in found] == [each.ended for each in wanted]
        for one, other in zip(found, wanted, strict=True):
            assert one.log_prob == pytest.approx(other.log_prob, abs=1e-3)
            assert one.score == pytest.approx(other.score, abs=1e-4)


@pytest.mark.parametrize("stack", ["rotary", "window", "gru"])
def test_a_model_that_drafts_for_itself_is_always_right(stack: str) -> None:
    large = model(stack)
    for search in (Greedy(min_length=40), Sample(seed=2, temperature=0.7, min_length=40)):
        found = write(large, search, requests(40), Draft(large, 3))
        total = counted(found)
        assert total.accepted == total.proposed > 0
        assert [each.drafted.steps for each in found if each.drafted] == [10] * 4  # four tokens a step


def test_a_draft_that_agrees_guesses_more_and_one_that_does_not_less() -> None:
    large = model("transformer")
    search = Greedy(min_length=60)
    drafts = (near(large, "transformer", 0.0), model("gru", 77))
    good, bad = (counted(write(large, search, requests(60), Draft(small))) for small in drafts)
    assert good.accepted == good.proposed
    assert good.steps < 4 * 60 / MOST * 1.5
    assert bad.accepted < bad.proposed
    assert bad.proposed / bad.steps < 3


def exact(large: Any, search: Sample | Greedy, prompt: list[int], length: int) -> dict[tuple[int, ...], float]:
    """The chance of every text of so many tokens, or one that ended: everything read anew, by the definition."""
    found: dict[tuple[int, ...], float] = {}

    def go_on(line: tuple[int, ...], chance: float) -> None:
        if len(line) == length or (line and line[-1] == END):
            found[line] = found.get(line, 0.0) + chance
            return
        logits = large(torch.tensor([[*prompt, *line]]))[:, -1].clone()
        logits[:, [PAD, BEGIN]] = -torch.inf
        if len(line) < search.min_length:
            logits[:, END] = -torch.inf
        for token in {*prompt, *line} if search.repetition_penalty != 1 else ():
            score = logits[0, token]
            logits[0, token] = score / search.repetition_penalty if score > 0 else score * search.repetition_penalty
        chances = search.spread(logits)[0].double()
        for token in chances.nonzero().flatten().tolist():
            go_on((*line, token), chance * float(chances[token]))

    with torch.no_grad():
        go_on((), 1.0)
    return found


def off(counts: "Counter[tuple[int, ...]]", wanted: dict[tuple[int, ...], float]) -> tuple[float, int]:
    """Chi-square, with what is rare taken together, and its degrees of freedom."""
    rows = sum(counts.values())
    pairs = [(counts[line], rows * chance) for line, chance in wanted.items()]
    common = [pair for pair in pairs if pair[1] >= 5]
    rare = [pair for pair in pairs if pair[1] < 5]
    if sum(each[1] for each in rare) >= 5:
        common.append((sum(each[0] for each in rare), sum(each[1] for each in rare)))
    return sum((seen - mean) ** 2 / mean for seen, mean in common), len(common) - 1


def drawn(large: Any, search: Search, given: list[Request], draft: Draft) -> "Counter[tuple[int, ...]]":
    found = write(large, search, given, draft)
    return Counter((*each.tokens, END) if each.ended else tuple(each.tokens) for each in found)


CHANCES = {
    "plain": Sample(seed=1),
    "cool": Sample(temperature=0.6, seed=2),
    "hot": Sample(temperature=2.0, seed=3),
    "top_k": Sample(top_k=2, temperature=1.3, seed=4),
    "top_p": Sample(top_p=0.8, temperature=1.5, seed=5),
    "min_p": Sample(min_p=0.15, temperature=1.5, seed=6),
    "penalty": Sample(repetition_penalty=1.7, min_length=2, seed=7),
}


@pytest.mark.parametrize("search", CHANCES.values(), ids=CHANCES)
def test_texts_are_drawn_as_often_as_the_large_model_says(search: Sample) -> None:
    words, prompt, rows, length = 6, [BEGIN, 4], 600, 3
    large, small = model("transformer", 3, words), model("gru", 9, words)
    wanted = exact(large, search, prompt, length)
    assert sum(wanted.values()) == pytest.approx(1.0, abs=1e-4)
    given = [Request(prompt, None, length, number) for number in range(rows)]
    counts = drawn(large, search, given, Draft(small, 2))
    assert set(counts) <= set(wanted)
    found, freedom = off(counts, wanted)
    limit = freedom + 4 * (2 * freedom) ** 0.5 + 4
    assert found < limit  # once in some thousands, and the seeds are fixed
    theirs = exact(small, search, prompt, length)
    assert sum(abs(theirs.get(line, 0.0) - wanted.get(line, 0.0)) for line in {*theirs, *wanted}) > 0.2
    wrong = Counter({line: round(rows * chance) for line, chance in theirs.items() if line in wanted})
    assert off(wrong, wanted)[0] > limit  # the test would notice the draft's own chances


def test_the_rule_alone_gives_the_wanted_chances() -> None:
    """One guess, many times: the token that is written first has the model's chances, to a few in a thousand."""
    random = torch.Generator().manual_seed(3)
    wanted, given = (torch.randn(2, 7, generator=random).mul(1.5).softmax(-1) for _ in range(2))
    counts, rows = torch.zeros(7), 20_000
    guesses = torch.multinomial(given[0], rows, replacement=True, generator=random).tolist()
    for guess, numbers in zip(guesses, torch.rand(rows, 2, generator=random), strict=True):
        stood, token = judged(wanted, [given[0]], [guess], numbers)
        counts[guess if stood else token] += 1
    assert 0.5 * (wanted[0] - given[0]).abs().sum() > 0.2
    assert 0.5 * (counts / rows - wanted[0]).abs().sum() < 0.012
    assert counts.sum() == rows


def test_two_that_are_the_same_always_agree() -> None:
    chances = torch.tensor([[0.25, 0.75, 0.0], [0.0, 0.5, 0.5]])
    for number, guess in product([0.0, 0.5, 1 - 2**-24], [0, 1]):
        assert judged(chances, [chances[0]], [guess], torch.tensor([number, 0.0])) == (1, 1)


def test_how_many_are_guessed_next() -> None:
    """One more after all were right, up to the most; else one less, or as many as were right if that is more."""
    large, cpu = model("transformer"), torch.device("cpu")
    steps, choice = CompiledSteps(large, cpu), Choice(large.head, {END}, {PAD, BEGIN})
    guesser, now = Guesser(Draft(large), steps, Greedy(), choice, cpu), list[int]()
    for guessed, stood in ((4, 4), (5, 5), (6, 6), (7, 7), (8, 8), (8, 0), (7, 2), (3, 2), (0, 0)):
        guesser.note(guessed, stood)
        now.append(guesser._now)
    assert now == [5, 6, 7, 8, 8, 7, 6, 5, 5]


def test_nothing_is_written_behind_an_end_nor_past_a_limit() -> None:
    large = model("transformer")
    with torch.no_grad():
        large.head.weight[END] = large.head.weight[5]  # ends come where a word would have
    wanted = write(large, Sample(seed=4, temperature=1.5), requests(40))
    assert any(each.ended for each in wanted)
    for tokens in (1, 4, 12):
        for search in (Greedy(), Sample(seed=4, temperature=1.5)):
            events = list(Engine(large, search, draft=Draft(large, tokens), **MARKS).generate(requests(40)))
            told: dict[int, list[int]] = {place: [] for place in range(4)}
            for event in events:
                if isinstance(event, Token):
                    assert event.token != END
                    told[event.place].append(event.token)
                else:
                    assert isinstance(event, Finished)
                    assert event.hypotheses[0].tokens == told[event.place]
                    assert event.hypotheses[0].ended == (len(told[event.place]) < 40)
    for limit in (1, 2, 3, 7):
        found = write(large, Greedy(min_length=9), requests(limit), Draft(large, 5))
        assert [len(each.tokens) for each in found] == [limit] * 4


def test_a_text_halts_where_its_reader_says_so() -> None:
    large, seen = model("transformer"), list[int]()
    request = Request([BEGIN], None, 50, halted=lambda: len(seen) > 10)
    for event in Engine(large, Greedy(min_length=50), draft=Draft(large, 3), **MARKS).generate([request]):
        if isinstance(event, Token):
            seen.append(event.token)
    assert 10 < len(seen) < 20


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 8])
def test_a_draft_with_a_short_context_begins_anew(limit: int) -> None:
    large = model("rotary")
    small = model("transformer", 4, positions={"kind": "learned", "limit": limit})
    wanted = write(large, Greedy(min_length=30), requests(30))
    found = write(large, Greedy(min_length=30), requests(30), Draft(small))
    assert [each.tokens for each in found] == [each.tokens for each in wanted]
    assert counted(found).proposed > 30 or limit < 3
    assert counted(write(large, Greedy(min_length=30), requests(30), Draft(large, 3, limit))).steps < 4 * 31


def test_the_large_models_last_position_is_written() -> None:
    large = model("transformer", positions={"kind": "learned", "limit": 16})
    found = write(large, Greedy(min_length=50), requests(50), Draft(model("gru"), 6))
    assert [len(prompt) + len(each.tokens) for prompt, each in zip(PROMPTS, found, strict=True)] == [16] * 4
    wanted = write(large, Greedy(min_length=50), requests(50))
    assert [each.tokens for each in found] == [each.tokens for each in wanted]


def test_a_penalty_and_repetitions_see_the_guess_too() -> None:
    large, small = model("transformer"), model("transformer", 6)
    for search in (Greedy(repetition_penalty=1.5, min_length=25), Greedy(no_repeat_ngram_size=2, min_length=25)):
        wanted = write(large, search, requests(25))
        for draft in (Draft(small, 4), Draft(near(large, "transformer"), 4)):
            assert [each.tokens for each in write(large, search, requests(25), draft)] == [e.tokens for e in wanted]


def test_chance_is_the_same_in_any_company_and_again() -> None:
    large, small, search = model("rotary"), model("gru"), Sample(seed=8, temperature=2.0)
    wanted = write(large, search, requests(), Draft(small))
    again = write(large, search, requests()[::-1], Draft(small))[::-1]
    assert [each.tokens for each in again] == [each.tokens for each in wanted]
    assert [each.tokens for each in write(large, search, requests()[2:3], Draft(small))] == [wanted[2].tokens]


def test_a_draft_may_have_columns_for_which_there_are_no_tokens() -> None:
    large = model("transformer")
    wanted = write(large, Greedy(min_length=20), requests())
    found = write(large, Greedy(min_length=20), requests(), Draft(model("gru", 3, WORDS + 5), 3))
    assert [each.tokens for each in found] == [each.tokens for each in wanted]
    fewer = Draft(model("gru", 3, WORDS - 1), 3)
    with pytest.raises(InputError, match="knows 10 tokens and the model writes 11"):
        write(large, Greedy(), requests(), fewer)
    marks = MARKS | {"forbidden": {PAD, BEGIN, WORDS - 1}}  # one that no text has: both may be filled up to any size
    plain, drafted = (Engine(large, Greedy(min_length=9), draft=draft, **marks) for draft in (None, fewer))
    assert [each.tokens for (each,) in drafted.write(requests())] == [
        each.tokens for (each,) in plain.write(requests())
    ]
    with pytest.raises(InputError, match="prompt: there is no token 10"):
        drafted.write([Request([BEGIN, 10])])


def test_what_is_no_number_and_what_cannot_be_is_said() -> None:
    large, broken = model("transformer"), model("gru")
    with torch.no_grad():
        broken.head.weight.fill_(torch.nan)
    with pytest.raises(FailedError, match="the draft's scores are not numbers"):
        write(large, Sample(), requests(), Draft(broken))
    with pytest.raises(FailedError, match="not numbers"):
        write(broken, Greedy(), requests(), Draft(large))
    with pytest.raises(InputError, match="beam search keeps several"):
        Engine(large, Beam(), draft=Draft(large), **MARKS)


def test_requests_come_while_others_are_written() -> None:
    large = model("transformer")
    engine = Engine(large, Greedy(min_length=12), draft=Draft(model("gru")), **MARKS)
    first, second = requests(12)[:2], requests(12)[2:]
    assert list(engine.add(first)) == [0, 1]
    events = engine.step()
    assert list(engine.add(second)) == [2, 3]
    while engine.busy:
        events += engine.step()
    done = {event.place: event.hypotheses[0].tokens for event in events if isinstance(event, Finished)}
    wanted = write(large, Greedy(min_length=12), requests(12))
    assert [done[place] for place in range(4)] == [each.tokens for each in wanted]
