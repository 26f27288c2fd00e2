"""A head that is switched off says nothing, in any stack, at once or step by step; otherwise nothing is touched."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.decoding.beam import Beam
from regard.decoding.engine import Engine
from regard.decoding.request import Request
from regard.errors import InputError
from regard.model.build import build
from regard.model.watch import Tap, silenced, watch

HEADS = {"kind": "multihead", "heads": 3, "kv_heads": 1}
LINEAR = {"kind": "linear", "heads": 3}


def translator(heads: dict[str, Any] = HEADS) -> Any:
    torch.manual_seed(0)
    stack = {"kind": "transformer", "layers": 2, "attention": heads}
    sizes = {"source_vocab_size": 11, "target_vocab_size": 11, "width": 24}
    model = build({"model": {"kind": "seq2seq", "encoder": stack, "decoder": stack | {"cross": heads}, **sizes}})
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model.eval()


def tokens(rows: int, length: int, seed: int = 0) -> Tensor:
    return torch.randint(3, 11, (rows, length), generator=torch.Generator().manual_seed(seed))


SOURCE, TARGET = tokens(2, 6), tokens(2, 5, 1)
PLACES = ["encoder.layers.0.attention", "decoder.layers.1.attention", "decoder.layers.0.cross"]


def without(model: Any, place: str, head: int) -> Tensor:
    """The same by hand: the columns of W_O through which a head speaks are zero."""
    output = model.get_submodule(place).output
    before = output.weight.detach().clone()
    with torch.no_grad():
        output.weight[:, 8 * head : 8 * head + 8] = 0
        found = model(SOURCE, TARGET)
        output.weight.copy_(before)
    return found


@pytest.mark.parametrize("heads", [HEADS, LINEAR], ids=["multihead", "linear"])
@pytest.mark.parametrize("place", PLACES)
@torch.no_grad()
def test_a_silent_head_is_one_whose_part_of_the_output_matrix_is_zero(place: str, heads: dict[str, Any]) -> None:
    model = translator(heads)
    plain = model(SOURCE, TARGET)
    with silenced(model, {place: [2]}):
        found = model(SOURCE, TARGET)
        memory = model.start(SOURCE)
        steps = [model.head(model.step(part, memory)) for part in TARGET.split(1, 1)]
    torch.testing.assert_close(found, without(model, place, 2), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(torch.cat(steps, 1), found, rtol=1e-4, atol=1e-5)
    assert (found - plain).abs().max() > 1e-3
    assert torch.equal(model(SOURCE, TARGET), plain)


@torch.no_grad()
def test_every_row_of_a_batch_can_have_heads_of_its_own_switched_off() -> None:
    model = translator()
    with silenced(model, {PLACES[0]: [0]}, {PLACES[1]: [1, 2]}):
        found = model(SOURCE, TARGET)
    for row, off in enumerate(({PLACES[0]: [0]}, {PLACES[1]: [1, 2]})):
        with silenced(model, off):
            alone = model(SOURCE, TARGET)
        torch.testing.assert_close(found[row], alone[row], rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_all_heads_off_is_no_attention_at_all() -> None:
    model = translator()
    with silenced(model, {f"decoder.layers.{n}.cross": range(3) for n in range(2)}):
        assert torch.equal(model(SOURCE, TARGET), model(SOURCE.flip(1), TARGET))


@torch.no_grad()
def test_a_recurrent_decoder_loses_its_context() -> None:
    torch.manual_seed(0)
    reading = {"kind": "recurrent", "layers": 1}
    sizes = {"source_vocab_size": 11, "target_vocab_size": 11, "width": 8}
    looking = reading | {"attention": "additive"}
    model: Any = build({"model": {"kind": "seq2seq", "encoder": reading, "decoder": looking, **sizes}}).eval()
    plain = model(SOURCE, TARGET)
    with silenced(model, {"decoder.attention": [0]}), watch(model) as seen:
        found = model(SOURCE, TARGET)
    assert (found - plain).abs().max() > 1e-4
    torch.testing.assert_close(seen["decoder.attention"].weights.sum(-1), torch.ones(2, 1, 5))


def test_a_search_goes_on_without_it() -> None:
    """Also where several hypotheses of a sentence are steps of one row."""
    model = translator()
    request = Request([1], SOURCE[0].tolist(), 6, 0)
    off = {name: [0, 1, 2] for name in ("decoder.layers.0.cross", "decoder.layers.1.cross")}
    engine = Engine(model, Beam(beam_size=3), stop_tokens=[2])
    ((plain, *_),) = engine.write([request])
    with silenced(model, off):
        ((found, *_),) = engine.write([request])
        ((blind, *_),) = engine.write([Request([1], [5, 5], 6, 0)])
    assert found.tokens == blind.tokens  # whatever the source says
    assert found.log_prob == pytest.approx(blind.log_prob, abs=1e-4)
    assert plain.log_prob != pytest.approx(found.log_prob, abs=1e-4)


def test_nothing_is_left_silent_and_an_idle_tap_is_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    model = translator()
    with pytest.raises(IndexError), silenced(model, {PLACES[0]: [0]}):
        raise IndexError
    assert all(tap.idle for tap in model.modules() if isinstance(tap, Tap))
    monkeypatch.setattr(Tap, "forward", None)
    model(SOURCE, TARGET)


@torch.no_grad()
def test_silences_lie_within_one_another() -> None:
    model = translator()
    with silenced(model, {PLACES[0]: [0]}):
        outer = model(SOURCE, TARGET)
        with silenced(model, {PLACES[1]: [1]}):
            inner = model(SOURCE, TARGET)
        assert torch.equal(model(SOURCE, TARGET), outer)
    assert not torch.equal(inner, outer)


def test_what_there_is_not_is_said() -> None:
    model = translator()
    with (
        pytest.raises(InputError, match=r"^encoder\.attention: no attention of this model; there are encoder\."),
        silenced(model, {"encoder.attention": [0]}),
    ):
        pass
    with (
        pytest.raises(InputError, match=r"^head 3: this attention has 3, counted from 0$"),
        silenced(model, {PLACES[0]: [3]}),
    ):
        model(SOURCE, TARGET)
