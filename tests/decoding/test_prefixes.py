"""What prompts begin with alike is read once, and nobody's answer changes; long prompts are read in blocks."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from chances import BEGIN, END, PAD, WORDS, lines, unchecked
from hypothesis import given
from hypothesis import strategies as st
from test_speculative import STACKS, model
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from regard.decoding.beam import Beam
from regard.decoding.draft import Draft
from regard.decoding.engine import Engine
from regard.decoding.prefixes import LEAST, numbered, shared
from regard.decoding.reading import BLOCK
from regard.decoding.request import Request
from regard.decoding.runner import Runner
from regard.decoding.sample import Greedy, Sample
from regard.decoding.search import Search
from regard.decoding.workers import stepped

MARKS: dict[str, Any] = {"stop_tokens": {END}, "forbidden": {PAD, BEGIN}}
SEARCHES: dict[str, Search] = {"greedy": Greedy(min_length=4), "sample": Sample(seed=3), "beam": Beam(beam_size=3)}


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with unchecked():
        yield


def some_tokens(count: int, seed: int) -> list[int]:
    found: list[int] = torch.randint(3, WORDS, (count,), generator=torch.Generator().manual_seed(seed)).tolist()
    return found


def alike() -> list[Request]:
    """Three that begin alike, three that begin otherwise alike, one that is alone; of several lengths."""
    one, other = [BEGIN, *some_tokens(40, 1)], [BEGIN, *some_tokens(30, 2)]
    ends = [some_tokens(size, 10 + place) for place, size in enumerate((3, 5, 3))]
    prompts = [*(one + end for end in ends), *(other + end for end in ends), [BEGIN, *some_tokens(20, 3)]]
    return [Request(prompt, None, 6, number) for number, prompt in enumerate(prompts)]


class Counted:
    """How many tokens a model has read, rows times positions."""

    def __init__(self, large: Any, patch: pytest.MonkeyPatch) -> None:
        self.read, step = 0, large.step

        def counted(tokens: Tensor, memory: Any) -> Tensor:
            self.read += tokens.numel()
            found: Tensor = step(tokens, memory)
            return found

        patch.setattr(large, "step", counted)


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("stack", STACKS)
def test_a_common_beginning_is_read_once_and_changes_nothing(
    stack: str, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, given = model(stack), alike()
    wanted = [found for request in given for found in Engine(large, search, **MARKS).write([request])]
    count = Counted(large, monkeypatch)
    found = Engine(large, search, **MARKS).write([Request(one.prompt, None, 1, one.number) for one in given])
    assert len(found) == len(given)
    assert count.read == 41 + 31 + 2 * (3 + 5 + 3) + 21  # each beginning once, each end, and the one alone
    assert lines(Engine(large, search, **MARKS).write(given)) == lines(wanted)
    few = Engine(large, search, rows=2 * search.hypotheses, **MARKS)
    assert lines(few.write(given)) == lines(wanted)


@pytest.mark.parametrize("rows", [1000, 3])
@pytest.mark.parametrize("workers", [1, 2])
def test_samples_of_one_prompt_read_it_once(rows: int, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many slots there are, and in whatever thread they are."""
    large, prompt = model("rotary"), [BEGIN, *some_tokens(50, 4)]
    given = [Request(prompt, None, 1, number) for number in range(20)]
    count = Counted(large, monkeypatch)
    before = torch.get_num_threads()
    torch.set_num_threads(workers)
    try:
        found = Engine(large, Sample(seed=1), rows=rows, **MARKS).write(given)
    finally:
        torch.set_num_threads(before)
    assert len({tuple(each.tokens) for (each,) in found}) > 2
    assert 51 <= count.read <= 50 + (workers if rows == 1000 else 20)


def test_with_a_draft_too(monkeypatch: pytest.MonkeyPatch) -> None:
    large, given = model("rotary"), alike()
    wanted = Engine(large, Greedy(min_length=6), **MARKS).write(given)
    count = Counted(large, monkeypatch)
    found = Engine(large, Greedy(min_length=6), draft=Draft(model("gru"), 2), **MARKS).write(given)
    assert lines(found) == lines(wanted)
    assert count.read < sum(len(request.prompt) for request in given)


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_prompts_that_are_alike_to_the_end_go_on_apart(search: Search) -> None:
    prompt = [BEGIN, *some_tokens(5, 1)]
    given = [Request([*prompt, last], None, 5, number) for number, last in enumerate((3, 4, 3, 4, 4))]
    large = model("rotary")
    wanted = [found for request in given for found in Engine(large, search, **MARKS).write([request])]
    assert lines(Engine(large, search, **MARKS).write(given)) == lines(wanted)


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("search", [*SEARCHES.values(), Beam(beam_size=1)], ids=[*SEARCHES, "beam of one"])
@pytest.mark.parametrize("others", [False, True])
def test_long_prompts_that_are_the_same_go_on_apart(stack: str, search: Search, others: bool) -> None:
    """All but their last token is read once for all, and that one, too."""
    prompt = [BEGIN, *some_tokens(LEAST + 3, 1)]
    given = [Request(prompt, None, 6, number) for number in range(3)]
    if others:
        given += [Request([*prompt[:-1], 4], None, 4, number) for number in (3, 4)] + [Request([BEGIN, 5], None, 5, 5)]
    large = model(stack)
    wanted = [found for request in given for found in Engine(large, search, **MARKS).write([request])]
    assert lines(Engine(large, search, **MARKS).write(given)) == lines(wanted)


def test_however_many_beginnings_begin_alike() -> None:
    prompts = [(BEGIN,) * size for size in range(LEAST, 1500)]
    found = dict(pair for _, places in shared(prompts) for pair in zip(places, places, strict=True))
    assert len(found) > len(prompts) // 2


def test_a_beginning_is_forgotten_when_the_last_has_begun() -> None:
    """Those that are alike to the end count one by one, too."""
    prompt = [BEGIN, *some_tokens(40, 1)]
    given = numbered([Request([*prompt, last], None, 2) for last in (3, 3, 4, 5)])
    engine = Engine(model("rotary"), Greedy(), rows=4, **MARKS)
    assert list(stepped(Runner(engine._job, 4), given))
    assert [each.prefix is not None and each.prefix._memory is None for each in given] == [True] * 4


def test_the_first_to_read_a_beginning_saves_nothing() -> None:
    """20 tokens for three save 40: more than 35 for two of them do, and less than 45."""
    short = tuple(some_tokens(20, 5))
    for more, wanted in ((15, {20: [0, 1, 2]}), (25, {20 + 25: [0, 1]})):
        prompts = [(*short, *[3] * more, 4), (*short, *[3] * more, 5), (*short, 4)]
        assert {len(prefix): sorted(places) for prefix, places in shared(prompts)} == wanted


def test_the_beginnings_that_save_most_are_taken() -> None:
    short, long = tuple(some_tokens(20, 5)), tuple(some_tokens(90, 6))
    prompts = [(*short, *long, n) for n in range(4)] + [(*short, 7, n) for n in range(2)] + [(9, *long)]
    found = {len(prefix): sorted(places) for prefix, places in shared(prompts)}
    assert found == {110: [0, 1, 2, 3], 21: [4, 5]}
    assert list(shared([(1,) * (LEAST - 1)] * 5)) == []
    assert list(shared([])) == list(shared([(1,) * 99])) == []
    assert [len(prefix) for prefix, _ in shared([(1,) * 99] * 2)] == [98]  # the last token is everybody's own


@given(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=60), max_size=30))
def test_prompts_of_any_kind_are_all_there_with_what_they_begin_with(prompts: list[list[int]]) -> None:
    prompts = [[0] * 20 * (len(prompt) % 2) + prompt for prompt in prompts]
    found = numbered([Request(prompt) for prompt in prompts], 5)
    assert sorted(each.place for each in found) == list(range(5, 5 + len(prompts)))
    for each in found:
        prompt = prompts[each.place - 5]
        assert list(each.request.prompt) == prompt
        if each.prefix is not None:
            assert LEAST <= len(each.prefix) < len(prompt)
            assert list(each.prefix.tokens) == prompt[: len(each.prefix)]
    nested = [[1] * count for count in range(1, 200)]
    assert len(numbered([Request(prompt) for prompt in nested])) == 199


class Largest(TorchDispatchMode):
    """The largest number of numbers that any operation gave back."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if isinstance(found, Tensor) and not func.is_view:
            self.numbers = max(self.numbers, found.numel())
        return found


@pytest.mark.parametrize("stack", ["rotary", "window", "linear", "gru", "convolution"])
def test_a_long_prompt_is_read_in_blocks(stack: str) -> None:
    """Nothing is formed that grows with the square of its length, and no logits of all of it."""
    more = {"positions": {"kind": "sinusoidal"}} if stack == "convolution" else {}
    large, length = model(stack, words=64, **more), 4 * BLOCK + 100
    prompt = [BEGIN, *some_tokens(length - 1, 7)]
    engine = Engine(large, Greedy(min_length=1), **MARKS)
    with Largest() as largest:
        (found,) = engine.write([Request(prompt, None, 1)])
    assert largest.numbers <= max(4 * BLOCK * length, 64 * BLOCK * 16)
    assert largest.numbers < length * length
    with torch.no_grad():
        logits = large(torch.tensor([prompt]))[0, -1]
    logits[: END + 1] = -torch.inf
    assert found[0].tokens == [int(logits.argmax())]
