"""What a language model writes: the same in any company, never half a character, and ended for a reason."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import pytest
import torch
from small import STACKS, TEXT, prepared, recipe

from regard.datasets.tokenizer.tokenizer import TextStream
from regard.decoding.beam import Beam
from regard.decoding.engine import Engine
from regard.decoding.request import Request, Token
from regard.decoding.sample import SEEDS, Greedy, Sample
from regard.errors import InputError, NoNumbersError
from regard.model.assembly import LanguageModel
from regard.model.build import build
from regard.tasks.language.generator import TextGenerator
from regard.tasks.language.loss import TOKENS
from regard.tasks.language.scorer import ScoredText, Scorer, _batched, _Part
from regard.tasks.language.writing import Chunk, Generated, Text, Written
from regard.tasks.task import Exam

PROMPTS = ["The fox", "yes, no", "", "The 3th fox", "ö", "The fox"]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("language")
    (folder / "text.txt").write_text(TEXT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(folder / "cache"))
        yield folder / "text.txt"


@pytest.fixture(scope="module", params=STACKS)
def generator(request: pytest.FixtureRequest, text: Path) -> TextGenerator:
    task, model = prepared(text, request.param, task={"context": 24}, tokenizer={"kind": "bpe", "vocab_size": 300})
    return task.answerer(model)


@pytest.fixture(scope="module")
def small(text: Path) -> TextGenerator:
    task, model = prepared(text, task={"context": 24}, tokenizer={"kind": "bytes"})
    return task.answerer(model)


def searching(generator: TextGenerator, search: Any) -> TextGenerator:
    return TextGenerator(generator.model, generator.tokenizer, generator.facts, search, generator.context)


def by_hand(generator: TextGenerator, prompt: str, tokens: int) -> tuple[list[int], list[float]]:
    """Greedy, with the whole text read anew for every token."""
    ids, costs = generator.encode(prompt), list[float]()
    never = sorted(generator.tokenizer.special - {*generator.facts.stops})
    start = len(ids)
    with torch.no_grad():
        for _ in range(tokens):
            logits = generator.model(torch.tensor([ids]))[0, -1]
            logits[never] = -torch.inf
            token = int(logits.argmax())
            if token in generator.facts.stops:
                break
            costs.append(float(logits.log_softmax(-1)[token]))
            ids.append(token)
    return ids[start:], costs


def test_it_writes_what_the_whole_text_read_anew_would(generator: TextGenerator) -> None:
    found = searching(generator, Greedy()).generate(PROMPTS, 8)
    assert [one.prompt for one in found] == PROMPTS
    for one in found:
        ids, costs = by_hand(generator, one.prompt, 8)
        assert [token.token for token in one.tokens] == ids
        assert [token.log_prob for token in one.tokens] == pytest.approx(costs, abs=1e-4)
        whole = generator.tokenizer.decode([[*generator.encode(one.prompt), *ids]])[0]
        assert one.prompt + one.text == whole


@pytest.mark.parametrize("how", [{}, {"min_length": 6}, {"no_repeat_ngram_size": 1}], ids=str)
def test_a_beam_of_one_is_greedy_search(generator: TextGenerator, how: dict[str, int]) -> None:
    """The same tokens and chances of them, though a beam's are told late."""
    greedy, beam = (
        searching(generator, search).generate(PROMPTS, 8) for search in (Greedy(**how), Beam(beam_size=1, **how))
    )
    assert any(one.tokens for one in greedy)
    for one, other in zip(greedy, beam, strict=True):
        assert (one.text, one.why) == (other.text, other.why)
        told = [token.log_prob for token in one.tokens]
        assert told == pytest.approx([token.log_prob for token in other.tokens], abs=1e-4)


def test_company_does_not_matter(generator: TextGenerator) -> None:
    drawn = searching(generator, Sample(seed=3))
    together = drawn.generate(PROMPTS, 8, samples=2)
    assert len(together) == 12
    alone = [
        event[1]
        for number, prompt in enumerate(PROMPTS)
        for event in drawn.stream([prompt], 8, samples=2, first=number)
        if isinstance(event, tuple)
    ]
    assert [one.text for one in together] == [one.text for one in alone]
    assert together[0].text != together[1].text
    again = [one.text for one in searching(generator, Sample(seed=4)).generate(PROMPTS, 8, samples=2)]
    assert again != [one.text for one in together]


def test_chunks_are_the_text_and_no_half_character_is_told(small: TextGenerator) -> None:
    """Bytes drawn by chance are no characters most of the time."""
    drawn = searching(small, Sample(seed=1))
    chunks: dict[int, str] = {}
    found: dict[int, Generated] = {}
    for event in drawn.stream(["한", "ö ", "a"], 15, samples=5):
        if isinstance(event, Chunk):
            chunks[event.place] = chunks.get(event.place, "") + event.text
        else:
            found[event[0]] = event[1]
    assert {place: one.text for place, one in found.items()} == {place: chunks.get(place, "") for place in found}
    for one in found.values():
        ids = [token.token for token in one.tokens]
        assert one.prompt + one.text == small.tokenizer.decode([[*small.encode(one.prompt), *ids]])[0]


def written(generator: TextGenerator, monkeypatch: pytest.MonkeyPatch, said: str) -> TextGenerator:
    """One that writes certain words: its head is taught nothing, its choice is."""
    ids = [*generator.tokenizer.encode([said])[0], generator.facts.end]

    class Told(Sample):
        def pick(self, logits: torch.Tensor, active: list[Any]) -> torch.Tensor:
            self.place = getattr(self, "place", -1) + 1
            return torch.tensor([ids[min(self.place, len(ids) - 1)]] * len(active))

    return searching(generator, Told())


@pytest.mark.parametrize(
    ("stop", "wanted", "why"),
    [
        ((), "one. two. three", "end"),
        (("two",), "one. ", "stop"),
        ((". t", "three"), "one", "stop"),
        (("e",), "on", "stop"),
        (("threet",), "one. two. three", "end"),
    ],
)
def test_a_stop_string_ends_a_text_before_it(
    stop: tuple[str, ...], wanted: str, why: str, small: TextGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = written(small, monkeypatch, "one. two. three")
    events = list(told.stream(["a"], 20, stop=stop))
    found = events[-1]
    assert isinstance(found, tuple)
    assert (found[1].text, found[1].why) == (wanted, why)
    assert "".join(event.text for event in events if isinstance(event, Chunk)) == wanted


def test_a_context_that_is_full_ends_a_text_or_slides(small: TextGenerator) -> None:
    greedy = searching(small, Greedy(min_length=99))
    (ended,) = greedy.generate(["abc"], 50)
    assert (ended.why, len(ended.tokens)) == ("context", 24 - 4)
    (slid,) = greedy.generate(["abc"], 50, slide=True)
    assert (slid.why, len(slid.tokens)) == ("length", 50)
    assert [token.token for token in slid.tokens[:20]] == [token.token for token in ended.tokens]
    kept = [*small.encode("abc"), *(token.token for token in slid.tokens[:20])][-12:]
    with torch.no_grad():
        logits = small.model(torch.tensor([kept]))[0, -1]
    logits[[*small.tokenizer.special]] = -torch.inf
    assert int(logits.argmax()) == slid.tokens[20].token
    assert slid.tokens[20].log_prob == pytest.approx(float(logits.log_softmax(-1).max()), abs=1e-4)
    for size in (24, 25):
        with pytest.raises(InputError, match=f"a prompt of {size} tokens, and the model takes in 24 in all"):
            greedy.generate(["x" * (size - 1)], 5)
    assert len(greedy.generate(["x" * 99], 5, slide=True)[0].tokens) == 5


def test_of_several_stop_strings_the_first_in_the_text_ends_it(small: TextGenerator) -> None:
    """A token may bring more than one of them at once, whatever their order was when they were said."""

    class Stream(TextStream):
        def add(self, token: int) -> str:
            return "one. two. three"

        def rest(self) -> str:
            return "half a character behind it"

    text = Text("", [0], Stream(small.tokenizer, [0]), 9, ["three", "two", "e. t"], 0)
    (chunk,) = text.add(Token(0, 1, -1.0))
    assert (chunk.text, text.why) == ("on", "stop")
    assert list(text.add(Token(0, 1, -1.0))) == []
    ((_, found),) = text.finish("stop")
    assert found.text == "on"


def told(events: list[Any]) -> tuple[dict[int, str], dict[int, Generated]]:
    """What was told of every text while it was written, and what it was in the end."""
    chunks, found = dict[int, str](), dict[int, Generated]()
    for event in events:
        if isinstance(event, Chunk):
            chunks[event.place] = chunks.get(event.place, "") + event.text
        else:
            found[event[0]] = event[1]
    return chunks, found


@pytest.mark.parametrize("slide", [False, True])
def test_what_is_held_back_is_told_wherever_a_text_ends(
    slide: bool, small: TextGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could have been the beginning of a stop string, and the context is full before that is known."""
    said = "x" * 30
    chunks, found = told(list(written(small, monkeypatch, said).stream(["a"], 29, stop=["xxxxy"], slide=slide)))
    assert found[0].why == ("length" if slide else "context")
    assert chunks[0] == found[0].text == said[: 29 if slide else 22]


def test_every_text_is_told_as_soon_as_it_ends(small: TextGenerator) -> None:
    """A long prompt has less room: its text ends first, and nobody waits for the other."""
    events = list(searching(small, Greedy(min_length=99)).stream(["a", "x" * 20], 99))
    chunks, found = told(events)
    assert {place: one.text for place, one in found.items()} == chunks
    ends = [event[0] for event in events if isinstance(event, tuple)]
    assert ends == [1, 0]
    first = next(number for number, event in enumerate(events) if isinstance(event, tuple))
    assert sum(isinstance(event, Chunk) for event in events[first:]) > 10


def test_every_slide_draws_anew(small: TextGenerator, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[tuple[int, int]]()
    generate = Engine.generate

    def heard(engine: Engine, requests: Any, stopped: Any) -> Any:
        asked.extend((request.number, len(request.prompt)) for request in requests)
        return generate(engine, requests, stopped)

    monkeypatch.setattr(Engine, "generate", heard)
    list(searching(small, Sample(seed=2, min_length=99)).stream(["abc"], 60, samples=2, slide=True))
    numbers = [number for number, _ in asked]
    assert [size for _, size in asked] == [4, 4, 12, 12, 12, 12, 12, 12, 12, 12]
    drawn = {(seed * SEEDS + number) % 2**32 for seed in range(1000) for number in numbers}
    assert len(drawn) == 1000 * len(numbers)  # nor as another seed has drawn


def test_samples_of_later_prompts_draw_anew(small: TextGenerator, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = list[int]()
    monkeypatch.setattr(Engine, "generate", lambda _, asked, stopped: numbers.extend(one.number for one in asked) or ())
    for first in (0, 2):
        next(iter(small.stream(["a", "b"], 5, samples=3, first=first, stopped=lambda: len(numbers) in (6, 12))), None)
    assert numbers == list(range(12))


def test_a_stop_string_ends_the_work_too(small: TextGenerator, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, step = list[int](), small.model.step

    def counted(tokens: torch.Tensor, memory: Any) -> torch.Tensor:
        steps.append(tokens.shape[1])
        return step(tokens, memory)

    monkeypatch.setattr(small.model, "step", counted)
    monkeypatch.setattr("regard.decoding.compiled.steps.MACHINE_CODE.get", lambda: None)
    (found,) = written(small, monkeypatch, "one two three four").generate(["a"], 20, stop=["two"])
    assert found.why == "stop"
    assert len(steps) <= len("one two") + 1


def test_a_beam_search_writes_in_the_end(generator: TextGenerator) -> None:
    beam = searching(generator, Beam(beam_size=3))
    chunks, found = told(list(beam.stream(PROMPTS, 6)))
    engine = Engine(generator.model, beam.search, stop_tokens=generator.facts.stops, forbidden=beam._never())
    for place, prompt in enumerate(PROMPTS):
        ((best, *_),) = engine.write([Request(generator.encode(prompt), None, 6)])
        one = found[place]
        assert [token.token for token in one.tokens] == best.tokens
        assert one.why == ("end" if best.ended else "length")
        assert one.text == chunks.get(place, "")
        ids = torch.tensor([[*generator.encode(prompt), *best.tokens]])
        with torch.no_grad():
            logits = generator.model(ids[:, :-1])[0]
        logits[:, beam._never()] = -torch.inf
        said = logits.log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
        wanted = said[len(said) - len(best.tokens) :].tolist()
        assert [token.log_prob for token in one.tokens] == pytest.approx(wanted, abs=1e-4)


def test_a_beam_search_slides(small: TextGenerator) -> None:
    beam = searching(small, Beam(beam_size=2, min_length=99))
    (ended,), (slid,) = beam.generate(["abc"], 50), beam.generate(["abc"], 50, slide=True)
    assert (ended.why, len(ended.tokens)) == ("context", 20)
    assert (slid.why, len(slid.tokens)) == ("length", 50)


@pytest.mark.parametrize("stack", ["lstm", "gru", "elman"])
def test_a_state_that_was_carried_while_it_learnt_has_no_context_to_fill(stack: str, text: Path) -> None:
    task, model = prepared(text, stack, task={"carry_state": True}, tokenizer={"kind": "bytes"})
    endless = replace(task.answerer(model), search=Greedy())
    bounded = replace(endless, carries=False)
    prompt = "The fox says yes"  # more than the twelve tokens of a window
    (found,) = endless.generate([prompt], 20)
    assert (found.why, [token.token for token in found.tokens]) == ("length", by_hand(endless, prompt, 20)[0])
    with pytest.raises(InputError, match="the model takes in 12 in all"):
        bounded.generate([prompt], 20)
    (scored,) = dict(Scorer(endless).score([prompt])).values()
    assert len(scored.tokens) == len(prompt)


def test_a_prompt_that_is_too_long_is_named_by_its_number(small: TextGenerator) -> None:
    with pytest.raises(InputError, match=r"a prompt of 25 tokens \(number 7\), and the model takes in 24 in all"):
        list(small.stream(["a", "x" * 24, "b"], 5, first=5))


def test_somebody_may_end_it(small: TextGenerator) -> None:
    asked = iter([False] * 5 + [True] * 99)
    found = [event for event in small.stream(["a"], 20, stopped=lambda: next(asked)) if isinstance(event, tuple)]
    assert found[0][1].why == "stopped"
    assert 0 < len(found[0][1].tokens) < 20


@pytest.mark.parametrize("penalty", [1.0, 1e6])
def test_what_was_said_is_less_likely_again(penalty: float, small: TextGenerator) -> None:
    (found,) = searching(small, Greedy(repetition_penalty=penalty, min_length=99)).generate(["ab"], 20)
    ids = [token.token for token in found.tokens]
    if penalty > 1:
        positive = len({*ids, *small.encode("ab")}) == len(ids) + 3
        assert positive
    else:
        assert len({*ids}) < len(ids)


def test_only_likely_tokens_are_drawn() -> None:
    logits = torch.tensor([[0.5, 0.25, 0.2, 0.05]]).log()
    assert (Sample(min_p=0.45).narrow(logits) > 0).tolist() == [[True, True, False, False]]
    assert (Sample(min_p=0.05).narrow(logits) > 0).all()
    assert (Sample(min_p=0.9).narrow(logits) > 0).tolist() == [[True, False, False, False]]
    hot = Sample(min_p=0.3, temperature=2.0).narrow(logits)  # after temperature: √0.1 is above it, and 0.1 below
    assert (hot > 0).all()
    assert (Sample(min_p=0.3, temperature=1.0).narrow(logits) > 0).tolist() == [[True, True, True, False]]


def test_texts_are_scored_as_they_would_be_alone(generator: TextGenerator) -> None:
    texts = ["The fox says yes", "", "no", "한국 or ö? " * 9, "The fox says yes", "x"]
    found = dict(Scorer(generator).score(texts))
    assert [found[n].text for n in range(6)] == texts
    for number, text in enumerate(texts):
        ids = generator.encode(text)
        costs = []
        for place in range(1, len(ids)):
            start = 0 if len(ids) <= 25 else max(0, -(-(place - 24) // 12) * 12)
            with torch.no_grad():
                costs.append(
                    float(generator.model(torch.tensor([ids[start:place]]))[0, -1].log_softmax(-1)[ids[place]])
                )
        assert [token.log_prob for token in found[number].tokens] == pytest.approx(costs, abs=1e-4)
        assert found[number].log_prob == pytest.approx(sum(costs), abs=1e-3)
        assert "".join(token.text for token in found[number].tokens) == text
    ended = dict(Scorer(generator, ended=True).score(["no", ""]))
    assert len(ended[0].tokens) == len(found[2].tokens) + 1
    assert len(ended[1].tokens) == 1


def test_the_first_token_is_scored_behind_the_one_that_begins_a_text(small: TextGenerator) -> None:
    apart = replace(small, facts=replace(small.facts, begin=small.encode("x")[-1]))
    assert apart.facts.begin != apart.facts.end
    (found,) = dict(Scorer(apart).score(["a"])).values()
    with torch.no_grad():
        logs = small.model(torch.tensor([[apart.facts.begin]]))[0, -1].log_softmax(-1)
    assert found.tokens[0].log_prob == pytest.approx(float(logs[small.encode("a")[-1]]), abs=1e-4)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 1e30])
def test_a_model_whose_scores_are_no_numbers_scores_nothing(wrong: float, text: Path) -> None:
    task, model = prepared(text, task={"context": 24}, tokenizer={"kind": "bytes"})
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(wrong)
    broken = task.answerer(model)
    with pytest.raises(NoNumbersError, match="scores of this text are not numbers"):
        list(Scorer(broken).score(["The fox", "The fox says yes and no and yes", "The fox"]))
    with pytest.raises(NoNumbersError, match="scores of this text are not numbers"):
        task.evaluate(broken, Exam(task.data, "valid"))
    assert task.evaluate(broken, Exam(task.data, "valid", quick=True)) is not None


def test_what_is_no_text_is_never_written(small: TextGenerator, text: Path) -> None:
    """Tokens such as <bos>; and columns that no token has, as in tables that are filled up to a round number."""
    size = len(small.tokenizer)
    never = [*small.tokenizer.special - set(small.facts.stops), *range(size, size + 3)]
    assert len(never) > 3
    model = build({"model": recipe(text)["model"] | {"vocab_size": size + 3}}).eval()
    assert isinstance(model, LanguageModel)
    with torch.no_grad():
        model.head.weight[never] = 100 * model.head.weight[never].sign()
    for search in (Greedy(min_length=9), Sample(seed=1), Beam(beam_size=2)):
        (found,) = replace(searching(small, search), model=model).generate(["The fox"], 9)
        assert found.tokens
        assert not {token.token for token in found.tokens} & set(never)
    with torch.no_grad():
        said = model(torch.tensor([small.encode("The fox")]))[0]
    assert set(said.argmax(-1).tolist()) <= set(never)  # they would be the likeliest


def test_a_score_is_of_the_whole_text_of_a_token_and_of_a_byte() -> None:
    found = ScoredText("한 ö", [Written("한", 5, -2.0), Written(" ", 6, -0.5), Written("ö", 7, -1.0)])
    assert found.log_prob == pytest.approx(-3.5)
    assert found.per_token == pytest.approx(-3.5 / 3)
    assert found.bits_per_byte == pytest.approx(3.5 / log(2) / (3 + 1 + 2))
    ended = ScoredText(found.text, [*found.tokens, Written("", 2, -1.5)], ended=True)
    assert ended.bits_per_byte == pytest.approx(5.0 / log(2) / (3 + 1 + 2 + 1))


def test_every_text_is_scored_once_and_never_too_many_at_a_time(small: TextGenerator) -> None:
    texts = ["x" * size for size in (1, 23, 24, 25, 36, 37, 48, 60)]
    assert sorted(number for number, _ in Scorer(small).score(texts)) == list(range(len(texts)))
    batches = list(_batched([_Part(number, [1] * (1 + number)) for number in range(200)]))
    assert all(len(some) * max(len(part.ids) for part in some) <= TOKENS for some in batches)
    assert sum(map(len, batches)) == 200


def test_what_is_scored_to_its_end_says_so(small: TextGenerator) -> None:
    ((_, open_), (_, ended)) = (next(iter(Scorer(small, end).score(["The fox"]))) for end in (False, True))
    assert (open_.ended, ended.ended) == (False, True)
    assert len(ended.tokens) == len(open_.tokens) + 1


def test_a_draft_changes_nothing_but_the_steps(small: TextGenerator, text: Path) -> None:
    task, model = prepared(text, "gru", task={"context": 24}, tokenizer={"kind": "bytes"})
    other = task.answerer(model)
    for large in (searching(small, Greedy()), searching(small, Greedy(min_length=99))):
        drafted = large.drafted(other, 3)
        for how in ({}, {"stop": ["e", "qu"]}, {"slide": True}):
            wanted, found = (each.generate(PROMPTS, 40, **how) for each in (large, drafted))
            assert [(one.text, one.why) for one in found] == [(one.text, one.why) for one in wanted]
            assert [len(one.tokens) for one in found] == [len(one.tokens) for one in wanted]
            for one in found:
                assert one.drafted is not None
                assert 0 <= one.drafted.accepted <= one.drafted.proposed
                assert one.drafted.accepted + one.drafted.steps >= len(one.tokens)
    itself = searching(small, Greedy(min_length=99)).drafted(small, 3)
    (found,) = itself.generate(["The"], 12)
    assert found.drafted is not None
    assert (found.drafted.accepted, found.drafted.proposed, found.drafted.steps) == (9, 9, 3)


def test_a_draft_of_another_vocabulary_is_refused(small: TextGenerator, generator: TextGenerator) -> None:
    with pytest.raises(
        InputError, match=r"another vocabulary: [\d,]+ of its [\d,]+ tokens are among the model's [\d,]+\n"
    ):
        small.drafted(generator)


def test_a_draft_keeps_its_own_context_and_is_where_the_model_is(small: TextGenerator) -> None:
    greedy = searching(small, Greedy())
    draft = greedy.drafted(replace(small, context=5), 3).draft
    assert draft is not None
    assert (draft.tokens, draft.room) == (3, 5)
    with pytest.raises(InputError, match="the draft is on meta and the model on cpu"):
        greedy.drafted(replace(small, model=deepcopy(small.model).to("meta")))


def test_beginnings_of_texts_are_scored_once(
    generator: TextGenerator, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = TextGenerator(generator.model, generator.tokenizer, generator.facts, Greedy(), 200)
    begin = "The 3th fox says 9: yes, no, 한국 or ö? The 3th fox says 9: "
    texts = [begin + end for end in ("yes", "no, 한국", "perhaps", "yes")] + ["fox", "The 3th fox"]
    alone = [dict(Scorer(wide).score([one]))[0] for one in texts]
    read, steps, states = 0, wide.model.step, wide.model.states

    def counted(tokens: torch.Tensor, *more: Any, inner: Any) -> torch.Tensor:
        nonlocal read
        read += tokens.numel()
        made: torch.Tensor = inner(tokens, *more)
        return made

    monkeypatch.setattr(wide.model, "step", lambda tokens, memory: counted(tokens, memory, inner=steps))
    monkeypatch.setattr(wide.model, "states", lambda tokens, mask: counted(tokens, mask, inner=states))
    found = dict(Scorer(wide).score(texts))
    assert read < sum(len(wide.encode(one)) for one in texts) / 1.5
    for number, one in enumerate(alone):
        assert [token.token for token in found[number].tokens] == [token.token for token in one.tokens]
        assert [token.log_prob for token in found[number].tokens] == pytest.approx(
            [token.log_prob for token in one.tokens], abs=1e-4
        )
