"""Prompts read by the machine code, beside torch's steps: states and what is remembered, whatever the model."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from compiled import Compiled, close
from contracts.pairs import of
from contracts.small import Case, every, small, tokens, unchecked
from contracts.test_joining import come_and_go
from test_compiled_numbers import LANGUAGE_MODELS, TRANSLATORS, coverable
from torch import Tensor, nn

from regard.decoding.compiled import stepper as room
from regard.decoding.compiled import steps as chosen
from regard.decoding.compiled.machine_code import Code
from regard.decoding.compiled.stepper import Stepper
from regard.decoding.compiled.steps import CompiledSteps
from regard.decoding.reading import BLOCK, next_logits, read
from regard.model.quantize import quantize
from regard.model.watch import watch

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with torch.inference_mode(), unchecked():
        yield


@pytest.fixture
def steps_of(code: Code, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A model's steps, with machine code that is there."""
    monkeypatch.setattr(chosen.MACHINE_CODE, "_code", code)
    return lambda model: CompiledSteps(model, CPU)


def language_model(**decoder: Any) -> Any:
    table = small("decoder", "transformer", **{"positions": small("positions", "rotary"), **decoder})
    return Case("model", small("model", "language_model", decoder=table)).build(0)


def remembered(memory: Any) -> list[Tensor]:
    return [tensor for entry in memory.layers for tensor in entry.tensors()]


@every([case for case in LANGUAGE_MODELS if coverable(case)])
@pytest.mark.parametrize("together", [1, 99], ids=["together", "one by one"])
def test_every_covered_model(
    case: Case, together: int, code: Code, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of any size, rows that began at any time: the states of torch's pass over all of it at once."""
    monkeypatch.setattr(room, "TOGETHER", together)
    model = Compiled(code, case.build(), reads=True)
    come_and_go(model)
    assert (model.taken > 8) == (case.table["decoder"]["mlp"]["kind"] != "experts")


@every([pair for pair in of("decoder") if pair.attention == "multihead" and pair.kernel == "auto"])
def test_every_pattern_with_all_positions(case: Case, code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "TOGETHER", 1)
    come_and_go(Compiled(code, case.build(), reads=True))


@every([case for case in TRANSLATORS if coverable(case)])
def test_what_translations_begin_with(case: Case, code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "TOGETHER", 1)
    come_and_go(Compiled(code, case.build(), reads=True), at_once=False)


HEADS = [(1, 1, 2), (6, 2, 6), (4, 1, 16), (3, 3, 20), (2, 1, 34)]


@pytest.mark.parametrize(("heads", "groups", "width"), HEADS)
@pytest.mark.parametrize("positions", ["rotary", "alibi"])
@pytest.mark.usefixtures("threads")
def test_heads_of_any_size(heads: int, groups: int, width: int, positions: str, code: Code) -> None:
    """Blocks that are no multiple of a tile, nor what is seen of a panel; of both rows, and after each other."""
    attention = small("attention", "multihead", heads=heads, kv_heads=groups, head_width=width)
    model = language_model(attention=attention, positions=small("positions", positions), mlp=small("mlp", "swiglu"))
    ours, theirs, stepper = model.start(rows=2), model.start(rows=2), Stepper(code, model)
    for count in (75, 9, 50):
        given = tokens(2, count, count)
        found = stepper.read(given, ours)
        assert found is not None
        close(found, model.step(given, theirs))
    for mine, other in zip(remembered(ours), remembered(theirs), strict=True):
        close(mine, other)
    found = stepper.step(tokens(2, 1), ours, model.head)
    assert found is not None
    close(found, model.head(model.step(tokens(2, 1), theirs)[:, -1]))


@pytest.mark.parametrize(("rows", "prompt"), [(1, 1), (1, 9), (1, 100), (3, 40), (1, BLOCK + 70), (40, 20)])
@pytest.mark.parametrize("kind", ["causal", "window", "local_global"])
def test_the_logits_after_a_prompt(rows: int, prompt: int, kind: str, steps_of: Any) -> None:
    """However it is cut into blocks, and whoever reads them."""
    width = {} if kind == "causal" else {"width": 48}
    model = language_model(pattern=small("pattern", kind, **width), attention=small("attention", "multihead"))
    memory, steps, given = model.start(rows=rows), steps_of(model), tokens(rows, prompt)
    close(next_logits(steps, given, memory, model.head), model(given)[:, -1])
    assert memory.length == prompt
    again = tokens(rows, 1, 5)
    close(next_logits(steps, again, memory, model.head), model(torch.cat([given, again], 1))[:, -1])


def test_all_blocks_are_compiled(steps_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for narrow windows: whole rows of torch's are faster than many small blocks."""
    seen: list[tuple[int, int]] = []
    reading = Stepper.read

    def noted(stepper: Stepper, given: Any, memory: Any) -> Any:
        found = reading(stepper, given, memory)
        if found is not None:
            seen.append(tuple(given.shape))
        return found

    monkeypatch.setattr(Stepper, "read", noted)
    for pattern, rows, wanted in (
        (small("pattern", "causal"), 1, [(1, BLOCK), (1, 200)]),
        (small("pattern", "causal"), 4, [(4, BLOCK // 4)] * 5 + [(4, 72)]),
        (small("pattern", "window", width=300), 1, [(1, 300), (1, 300), (1, 112)]),
        (small("pattern", "window", width=5), 1, []),
    ):
        model = language_model(pattern=pattern)
        seen.clear()
        read(steps_of(model), tokens(rows, BLOCK + 200), model.start(rows=rows))
        assert seen == wanted


@pytest.mark.parametrize("prompt", [20, 40, 90])
def test_eight_bits_are_near_the_product_with_rounded_weights(prompt: int, code: Code) -> None:
    eight, plain = language_model(mlp=small("mlp", "swiglu")), language_model(mlp=small("mlp", "swiglu"))
    quantize(eight)
    for name, part in plain.named_modules():
        if isinstance(part, nn.Linear) and name != "head":
            part.weight.data.copy_(eight.get_submodule(name).weight())
    found = Stepper(code, eight).read(tokens(1, prompt), eight.start(rows=1))
    assert found is not None
    wanted = plain.step(tokens(1, prompt), plain.start(rows=1))
    assert (found - wanted).abs().max() < 0.02 * wanted.abs().max()


def test_a_changed_weight_is_seen(code: Code) -> None:
    """Packed or not: weights that are read before the next step packs them anew, too."""
    model, given = language_model(), tokens(1, 80)
    stepper = Stepper(code, model)
    for packed in (False, True):
        model.decoder.layers[0].mlp.up.weight.mul_(2.0)
        memory = model.start(rows=1)
        found = stepper.read(given, memory)
        assert found is not None
        close(found, model.step(given, model.start(rows=1)))
        assert stepper._plan.packed == packed
        stepper.step(tokens(1, 9), memory, model.head)
        assert stepper._plan.packed


def test_what_is_left_to_torch(code: Code) -> None:
    """Gradients, somebody who watches, other rows, half precision around it: nothing is done then."""
    model = language_model()
    memory, stepper = model.start(rows=2), Stepper(code, model)
    assert stepper.read(tokens(3, 9), memory) is None
    with watch(model):
        assert stepper.read(tokens(2, 9), memory) is None
    with torch.inference_mode(False), torch.enable_grad():
        assert stepper.read(tokens(2, 9), memory) is None
    with torch.autocast("cpu", torch.bfloat16):
        assert stepper.read(tokens(2, 9), memory) is None
        assert stepper.score(torch.zeros(1, 24), model.head) is None
    assert memory.length == 0
    assert not any(entry.tensors() for entry in memory.layers)
    close(model.step(tokens(2, 9), memory), model.step(tokens(2, 9), model.start(rows=2)))
