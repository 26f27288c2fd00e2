"""The engine writes the same texts, whoever takes the steps."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from contracts.small import Case, small, tokens, unchecked

from regard.decoding.beam import Beam
from regard.decoding.compiled import steps as chosen
from regard.decoding.compiled.machine_code import Code
from regard.decoding.compiled.stepper import Stepper
from regard.decoding.engine import Engine
from regard.decoding.request import Hypothesis, Request
from regard.decoding.sample import Greedy, Sample
from regard.decoding.search import Search
from regard.model.quantize import quantize

STOP = 2
SEARCHES: dict[str, Search] = {"greedy": Greedy(), "sample": Sample(seed=3), "beam": Beam(beam_size=3, n_best=2)}


class Given:
    """Machine code that is there, or not."""

    def __init__(self, code: Code | None) -> None:
        self.code = code

    def get(self) -> Code | None:
        return self.code


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with unchecked():
        yield


def model(kind: str) -> Any:
    decoder = small("decoder", "transformer", positions=small("positions", "rotary"))
    return Case(kind, small("model", kind, decoder=decoder)).build(seed=4)


def requests(writer: Any, count: int) -> list[Request]:
    """With prompts and sources of several lengths, so that rows come and go."""
    sources = [tokens(1, 1 + 3 * number % 7, number)[0].tolist() for number in range(count)]
    prompts = [tokens(1, 1 + number % 3, number)[0].tolist() for number in range(count)]
    reads = hasattr(writer, "encoder")
    return [
        Request(prompt, source if reads else None, max_new_tokens=9 + number, number=number)
        for number, (prompt, source) in enumerate(zip(prompts, sources, strict=True))
    ]


def written(writer: Any, search: Search, count: int = 7, rows: int = 6) -> list[list[Hypothesis]]:
    return Engine(writer, search, stop_tokens={STOP}, rows=rows).write(requests(writer, count))


@pytest.mark.parametrize("kind", ["language_model", "seq2seq"])
@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_texts_are_the_same(
    code: Code, kind: str, search: Search, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, steps = model(kind), 0
    monkeypatch.setattr(chosen, "MACHINE_CODE", Given(None))
    wanted = written(writer, search)
    step, leap = Stepper.step, Stepper.leap

    def counted(*given: Any) -> Any:
        nonlocal steps
        found = step(*given)
        steps += found is not None
        return found

    def leapt(*given: Any) -> Any:
        nonlocal steps
        found = leap(*given)
        steps += 0 if found is None else found.taken
        return found

    monkeypatch.setattr(chosen, "MACHINE_CODE", Given(code))
    monkeypatch.setattr(Stepper, "step", counted)
    monkeypatch.setattr(Stepper, "leap", leapt)
    found = written(writer, search)
    assert [[each.tokens for each in some] for some in found] == [[each.tokens for each in some] for some in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert [each.log_prob for each in one] == pytest.approx([each.log_prob for each in other], rel=1e-4)
    assert steps > 10


def test_many_rows_are_left_to_torch(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, seen = model("seq2seq"), list[int]()
    monkeypatch.setattr(chosen, "MACHINE_CODE", Given(code))
    monkeypatch.setattr(chosen, "ROWS", 16)
    step = Stepper.step

    def noted(stepper: Stepper, given: Any, *more: Any) -> Any:
        seen.append(len(given))
        return step(stepper, given, *more)

    monkeypatch.setattr(Stepper, "step", noted)
    written(writer, Greedy(), count=40, rows=40)
    assert 0 < max(seen) <= chosen.ROWS < 40


def test_steps_are_handed_on_while_the_model_is_the_same(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model is looked at once for all texts of an engine, and anew where it has other parts or somebody's hook."""
    monkeypatch.setattr(chosen, "MACHINE_CODE", Given(code))
    made: list[Any] = []
    begin = chosen.CompiledSteps.__init__
    monkeypatch.setattr(chosen.CompiledSteps, "__init__", lambda *given: (made.append(1), begin(*given))[1])
    writer = model("seq2seq")
    engine, asked = Engine(writer, Greedy(), stop_tokens=[1]), [Request([2], [5, 6, 3], 5)]
    before = [engine.write(asked)[0][0].tokens for _ in range(3)]
    made_once = len(made)
    hook = writer.decoder.layers[0].register_forward_hook(lambda *_: None)
    hooked = engine.write(asked)[0][0].tokens
    assert before == [hooked] * 3
    hook.remove()
    quantize(writer)
    engine.write(asked)
    assert len(made) - made_once == 2
    assert engine._job.spare[0]._stepper._past._met is None


def test_another_device_needs_no_machine_code() -> None:
    found = chosen.CompiledSteps(model("language_model"), torch.device("meta"))
    assert found.step(tokens(1, 1), model("language_model").start(rows=1), None) is None


def test_a_prompt_is_torchs_however_few_its_rows(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine code scores every token it is given; of a prompt only the last one is asked for."""
    monkeypatch.setattr(chosen, "MACHINE_CODE", Given(code))
    writer = model("language_model")
    taken = chosen.CompiledSteps(writer, torch.device("cpu"))
    memory = writer.start(rows=2)
    with torch.inference_mode():
        writer.step(tokens(2, 3), memory)
        assert taken.step(tokens(2, chosen.SEVERAL // 2 + 1), memory, writer.head) is None
        assert memory.length == 3
        scored = taken.step(tokens(2, chosen.SEVERAL // 2), memory, writer.head)
    assert scored is not None
    assert len(scored) == chosen.SEVERAL
