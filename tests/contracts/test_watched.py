"""Watched equals unwatched bit by bit, and what is seen are the weights that were used."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.model.attention import Attention
from regard.model.mask import Mask
from regard.model.memory import Held
from regard.model.watch import watch

from .pairs import Pair, of
from .small import Case, blocks_of, encoders, every, tokens, translators, unchecked

LENGTH = 13
LENGTHS = torch.tensor([LENGTH, 6, 0])


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with torch.no_grad(), blocks_of(4):
        yield


def close(one: Tensor, other: Tensor, atol: float = 1e-5) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=atol)


@contextmanager
def listen(model: Any, heard: dict[str, list[Any]]) -> Iterator[None]:
    """Write down what every attention is given and what it answers."""

    def note(name: str) -> Any:
        return lambda _, given, named, out: heard.setdefault(name, []).append((given, named, out))

    hooks = []
    for name, module in model.named_modules():
        if isinstance(module, Attention):
            hooks.append(module.register_forward_hook(note(name), with_kwargs=True))
    yield
    for hook in hooks:
        hook.remove()


def reproduced(attention: Attention, weights: Tensor, values: Tensor) -> Tensor:
    """Σ_j α_ij v_j from the weights that were seen."""
    shared = weights.shape[1] // values.shape[1]
    return attention.answer(weights @ values.repeat_interleave(shared, 1))


def check_weights(weights: Tensor, visible: Tensor) -> None:
    """Rows sum to one, or to nothing where there is nothing to see; what is masked is exactly 0."""
    visible = visible.expand_as(weights)
    assert (weights[~visible] == 0).all()
    assert (weights >= 0).all()
    close(weights.sum(-1), visible.any(-1).float())


def check_rows(sight: Any, weights: Tensor) -> None:
    heads = weights.shape[1]
    close(sight.rows(3, 8), weights[:, :, 3:8], 1e-6)
    close(sight.rows(5, 6, head=heads - 1), weights[:, heads - 1 :, 5:6], 1e-6)


def check_self_attention(model: Any, stack: str, seen: Any, heard: Any, mask: Mask) -> None:
    at = torch.arange(LENGTH)
    visible = (getattr(model, stack).pattern & mask.padded(mask.key_lengths)).dense(at, at)
    looks = {name: sight for name, sight in seen.items() if name.startswith(stack)}
    assert len(looks) == 2
    for name, sight in looks.items():
        attention, ((given, _, out),) = model.get_submodule(name), heard[name]
        weights = sight.weights
        assert weights.shape == (len(given[0]), getattr(attention, "heads", 1), LENGTH, LENGTH)
        check_weights(weights, visible)
        check_rows(sight, weights)
        with unchecked():
            rotated = reproduced(attention, weights, attention.read(given[0])[1])
        close(rotated, out)


@every([pair for pair in of("decoder") if pair.kernel != "naive"])
def test_a_decoder_can_be_watched(case: Pair) -> None:
    model, target = case.build(), tokens(3, LENGTH)
    segments = torch.tensor([[0] * 4 + [1] * 9, [0] * 13, [3] * 1 + [4] * 11 + [5]])
    with unchecked():
        for mask in (Mask(key_lengths=LENGTHS), Mask(segments=segments)):
            unwatched = model(target, mask)
            with listen(model, heard := {}), watch(model) as seen:
                watched = model(target, mask)
            assert torch.equal(watched, unwatched)
            check_self_attention(model, "decoder", seen, heard, mask)


@every([pair for pair in of("encoder") if pair.kernel != "naive"])
def test_an_encoder_can_be_watched(case: Pair) -> None:
    model, source, heard = case.build(), tokens(3, LENGTH), {}
    with unchecked():
        unwatched = model.encode(source, LENGTHS).states
    with listen(model, heard), watch(model) as seen:
        watched = model.encode(source, LENGTHS).states
    assert torch.equal(watched, unwatched)
    check_self_attention(model, "encoder", seen, heard, Mask(key_lengths=LENGTHS))


@every([case for case in translators() if "every_step" not in str(case)])
def test_what_a_translator_looks_at_can_be_watched(case: Case) -> None:
    model, source, target, heard = case.build(), tokens(3, LENGTH), tokens(3, 5, seed=1), {}
    with unchecked():
        unwatched = model(source, target, LENGTHS)
    with listen(model, heard), watch(model) as seen, unchecked():
        watched = model(source, target, LENGTHS)
    assert torch.equal(watched, unwatched)
    visible = Mask(key_lengths=LENGTHS).dense(torch.arange(5), torch.arange(LENGTH))
    for name, calls in heard.items():
        attention, sight = model.get_submodule(name), seen[name]
        given, named, _ = calls[0]
        memory = named.get("memory")
        if given[1] is None and not isinstance(memory, Held):  # self-attention, seen above
            continue
        weights = sight.weights
        assert weights.shape[2:] == (5, LENGTH)
        check_weights(weights, visible)
        check_rows_across(sight, weights)
        out = torch.cat([out for *_, out in calls], 1)
        data = model.encode(source, LENGTHS).states
        with unchecked():
            close(reproduced(attention, weights, attention.read(data)[1]), out)
    looks = case.table["decoder"]["kind"] != "recurrent" or case.table["decoder"]["attention"]["kind"] != "none"
    assert any(name.startswith("decoder") for name in heard) == looks


def check_rows_across(sight: Any, weights: Tensor) -> None:
    close(sight.rows(1, 4, head=0), weights[:, :1, 1:4], 1e-6)


@every([case for case in encoders() if "transformer" in str(case)])
def test_after_watching_no_one_watches(case: Case) -> None:
    model, source = case.build(), tokens(1, LENGTH)
    with watch(model) as seen, unchecked():
        model.encode(source)
    before = [sight.weights.shape for name, sight in seen.items() if name.startswith("encoder")]
    with unchecked():
        model.encode(source)
    assert [sight.weights.shape for name, sight in seen.items() if name.startswith("encoder")] == before
