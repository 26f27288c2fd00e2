"""Sources read by the machine code, beside torch's encoder."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from compiled import close
from contracts.small import Case, small
from torch import Tensor

from regard.decoding.compiled import reader as room
from regard.decoding.compiled.machine_code import Code
from regard.decoding.compiled.reader import Reader
from regard.decoding.compiled.stepper import Stepper
from regard.decoding.compiled.weights import NotCoveredError
from regard.model.memory import Memory
from regard.model.quantize import quantize
from regard.model.watch import watch

LENGTHS = [9, 4, 1, 7, 9]


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with torch.inference_mode():
        yield


def translator(**encoder: Any) -> Any:
    table, decoder = small("encoder", "transformer", **encoder), small("decoder", "transformer")
    return Case("model", small("model", "seq2seq", encoder=table, decoder=decoder)).build(0)


def sources() -> tuple[Tensor, Tensor]:
    torch.manual_seed(3)
    return torch.randint(11, (len(LENGTHS), max(LENGTHS))), torch.tensor(LENGTHS)


def read(memory: Memory | None) -> list[Tensor]:
    """Keys and values of what is real, layer by layer."""
    assert memory is not None
    _, lengths = sources()
    real = torch.arange(max(LENGTHS)) < lengths[:, None]
    return [tensor.transpose(1, 2)[real] for entry in memory.cross for tensor in entry.tensors()]


OTHERWISE: list[dict[str, Any]] = [
    {},
    {"residual": small("residual", "post", closing_norm=True)},
    {"attention": small("attention", "multihead", kv_heads=4), "mlp": small("mlp", "swiglu")},
    {"positions": small("positions", "learned"), "norm": small("norm", "rms"), "layers": 3},
    {"positions": small("positions", "none"), "mlp": small("mlp", "experts")},
]


@pytest.mark.parametrize("encoder", OTHERWISE)
@pytest.mark.parametrize("at_once", [512, 10])
@pytest.mark.usefixtures("threads")
def test_what_torch_reads(code: Code, encoder: dict[str, Any], at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many sentences go at once, in one thread or more."""
    monkeypatch.setattr(room, "AT_ONCE", at_once)
    model = translator(**encoder)
    for found, wanted in zip(read(Reader(code, model).start(*sources())), read(model.start(*sources())), strict=True):
        close(found, wanted)


def test_the_first_step_goes_on_from_it(code: Code) -> None:
    """Its memory has room already, so that no step is torch's."""
    model, tokens = translator(), torch.full((len(LENGTHS), 1), 2)
    ours, theirs = Reader(code, model).start(*sources()), model.start(*sources())
    assert ours is not None
    stepper = Stepper(code, model)
    for _ in range(12):
        found = stepper.step(tokens, ours, None)
        assert found is not None
        close(found, model.step(tokens, theirs)[:, -1])
    assert ours.length == theirs.length == 12
    assert [entry.nbytes for entry in ours.layers] == [entry.nbytes for entry in theirs.layers]


def test_a_sentence_is_the_same_in_any_company(code: Code) -> None:
    for eight in (False, True):
        model = translator()
        if eight:
            quantize(model)
        reader, (tokens, lengths) = Reader(code, model), sources()
        alone, beside = reader.start(tokens[:1], lengths[:1]), reader.start(tokens, lengths)
        assert alone is not None
        assert beside is not None
        for one, all_of_them in zip(alone.cross, beside.cross, strict=True):
            for mine, theirs in zip(one.tensors(), all_of_them.tensors(), strict=True):
                assert torch.equal(mine[0], theirs[0])


def test_eight_bits_are_near_float32(code: Code) -> None:
    model = translator()
    wanted = read(model.start(*sources()))
    quantize(model)
    for found, exact in zip(read(Reader(code, model).start(*sources())), wanted, strict=True):
        assert (found - exact).abs().max() < 0.1 * exact.abs().max()


def test_what_is_left_to_torch(code: Code) -> None:
    for encoder in (
        {"pattern": small("pattern", "window")},
        {"positions": small("positions", "rotary")},
        {"attention": small("attention", "additive")},
    ):
        with pytest.raises(NotCoveredError):
            Reader(code, translator(**encoder))
    model = translator()
    reader, (tokens, lengths) = Reader(code, model), sources()
    assert reader.start(tokens, lengths * 0) is None
    with watch(model):
        assert reader.start(tokens, lengths) is None
    with torch.inference_mode(False), torch.enable_grad():
        assert reader.start(*sources()) is None
    model.encoder.layers[0].mlp.up.weight.data = model.encoder.layers[0].mlp.up.weight.data.clone()
    assert reader.start(tokens, lengths) is None


def test_a_changed_weight_is_seen(code: Code) -> None:
    """Packed weights are packed anew where they were changed in place."""
    model = translator()
    reader = Reader(code, model)
    before = read(reader.start(*sources()))
    model.encoder.layers[1].mlp.down.weight.mul_(3.0)
    after, wanted = read(reader.start(*sources())), read(model.start(*sources()))
    assert not torch.equal(before[0], after[0])
    for found, exact in zip(after, wanted, strict=True):
        close(found, exact)
