"""A padded row equals the row alone, in values and gradients; a row of length 0 gives zeros, never NaN."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.model.attention import Attention
from regard.model.mask import Mask
from regard.model.stack import Encoder

from .pairs import covering, of
from .small import WIDTH, Case, blocks_of, decoders, encoders, every, few, tokens, translators, unchecked

LENGTH = 17


def close(one: Tensor, other: Tensor, atol: float = 2e-5) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=atol)


def vectors(rows: int, length: int) -> Tensor:
    return torch.randn(rows, length, WIDTH, generator=torch.Generator().manual_seed(0))


def pulled(states: Tensor, lengths: list[int]) -> Tensor:
    """A number that depends on every real position, each in its own way, and on no padding."""
    real = torch.arange(states.shape[1]) < torch.tensor(lengths)[:, None]
    waves = torch.sin(torch.arange(states[0].numel()).view_as(states[0]) * 0.7)
    return (states * waves).masked_fill(~real[..., None], 0.0).sum()


def read(stack: Any, x: Tensor, lengths: list[int] | None) -> tuple[Tensor, Tensor]:
    """What an encoder or a decoder makes of vectors, and the gradient with respect to them."""
    x = x.clone().requires_grad_()
    mask = Mask(key_lengths=None if lengths is None else torch.tensor(lengths))
    states = stack(x, mask).states if isinstance(stack, Encoder) else stack(x, None, mask)
    pulled(states, lengths or [x.shape[1]] * len(x)).backward()
    assert x.grad is not None
    return states.detach(), x.grad


def stack_of(case: Case) -> Any:
    """The encoder or decoder that the case is about."""
    return getattr(case.build(), str(case).split("-")[0]).requires_grad_(False)


def compare(stack: Any, lengths: list[int]) -> None:
    x = vectors(len(lengths), LENGTH)
    states, gradient = read(stack, x, lengths)
    assert states.isfinite().all()
    assert gradient.isfinite().all()
    for row, length in enumerate(lengths):
        assert (gradient[row, length:] == 0).all()
        if isinstance(stack, Encoder):
            assert (states[row, length:] == 0).all()
        if 0 < length < LENGTH:
            alone, its_gradient = read(stack, x[row : row + 1, :length], None)
            close(states[row, :length], alone[0])
            close(gradient[row, :length], its_gradient[0])


@every([*covering("encoder"), *encoders(), *covering("decoder"), *decoders()])
def test_a_padded_row_equals_the_row_alone(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    stack, mixed = stack_of(case), []
    for module in stack.modules():
        if isinstance(module, Attention):
            monkeypatch.setattr(module, "mix", lambda *given, mix=module.mix: mixed.append(mix(*given)) or mixed[-1])
    with unchecked(), blocks_of(4):
        compare(stack, [LENGTH, 11, 1, 0])
    for out in mixed[:2]:
        assert (out[0] != 0).any()
        assert (out[3] == 0).all()  # nothing to see gives exact zeros


VARIED = [pair for pair in of("encoder") + of("decoder") if pair.kernel in ("", "auto") and pair.positions == "none"]


@every([*VARIED, *[case for case in encoders() if str(case).count("-") == 1]])
def test_whatever_the_lengths(case: Case) -> None:
    stack = stack_of(case)

    @few
    @given(st.lists(st.integers(0, LENGTH), min_size=1, max_size=2), st.sampled_from([2, 3, 7]))
    def holds(lengths: list[int], block: int) -> None:
        with unchecked(), blocks_of(block):
            compare(stack, [LENGTH, *lengths])

    holds()


@every(translators())
def test_a_padded_source_equals_the_source_alone(case: Case) -> None:
    model, lengths = case.build(), torch.tensor([7, 3, 1, 0])
    source, target = tokens(4, 7), tokens(4, 5, seed=1)
    with unchecked():
        logits = model(source, target, lengths)
        assert logits.isfinite().all()
        for row in (1, 2):
            with torch.no_grad():
                alone = model(source[row : row + 1, : lengths[row]], target[row : row + 1])
            close(logits[row], alone[0])
        logits.sum().backward()
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert all(gradient.isfinite().all() for gradient in gradients)
