"""Gated convolutions: torch's own with the same weights, and a view that widens with dilation and depth."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.model.build import build
from regard.model.convolution.gated import Gated
from regard.model.mask import Mask
from regard.model.memory import Held

SHAPES = [(1, 1), (3, 1), (5, 1), (3, 2), (3, 4), (5, 3)]


def made(kernel_size: int, dilation: int, width: int = 6) -> tuple[Gated, Tensor]:
    torch.manual_seed(0)
    return Gated(width, kernel_size, dilation), torch.randn(2, 17, width)


def by_torch(layer: Gated, x: Tensor, before: int, after: int) -> Tensor:
    """torch's conv1d with the weights of the layer: neighbours stand side by side in its one matrix."""
    weight = layer.mix.weight.unflatten(1, (layer.kernel_size, -1)).transpose(1, 2)
    padded = F.pad(x.mT, (before, after))
    return F.glu(F.conv1d(padded, weight, layer.mix.bias, dilation=layer.dilation), 1).mT


@pytest.mark.parametrize(("kernel_size", "dilation"), SHAPES)
def test_to_both_sides_it_is_torchs_convolution(kernel_size: int, dilation: int) -> None:
    layer, x = made(kernel_size, dilation)
    reach = (kernel_size - 1) * dilation // 2
    torch.testing.assert_close(layer(x), by_torch(layer, x, reach, reach), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("kernel_size", "dilation"), [*SHAPES, (2, 1), (2, 3), (4, 2)])
@pytest.mark.parametrize("sizes", [(17,), (1,) * 17, (4, 1, 1, 9, 2)])
def test_with_a_memory_it_looks_back_only(kernel_size: int, dilation: int, sizes: tuple[int, ...]) -> None:
    layer, x = made(kernel_size, dilation)
    memory = Held(x.new_zeros(2, layer.tail, 6))
    found = torch.cat([layer(part, memory) for part in x.split(list(sizes), 1)], 1)
    torch.testing.assert_close(found, by_torch(layer, x, layer.tail, 0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("kernel_size", "dilation"), SHAPES)
def test_gradients_are_those_of_torchs_convolution(kernel_size: int, dilation: int) -> None:
    layer, x = made(kernel_size, dilation)
    reach = (kernel_size - 1) * dilation // 2
    weights = [layer.mix.weight, layer.mix.bias]
    mine = torch.autograd.grad(layer(x).square().sum(), weights)
    wanted = torch.autograd.grad(by_torch(layer, x, reach, reach).square().sum(), weights)
    for one, other in zip(mine, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def stack(kind: str, **options: Any) -> Any:
    torch.manual_seed(0)
    quiet = {"positions": "none"} | options
    model = {"kind": "seq2seq", "source_vocab_size": 9, "target_vocab_size": 9, "width": 8, "encoder": "transformer"}
    alone = {"kind": "language_model", "vocab_size": 9, "width": 8}
    if kind == "encoder":
        return build({"model": model | {"decoder": "recurrent", "encoder": {"kind": "convolution"} | quiet}}).encoder
    return build({"model": alone | {"decoder": {"kind": "convolution"} | quiet}}).decoder


def seen(made: Any, kind: str, length: int, at: int) -> list[int]:
    """The distances at which a position of the output hears of the input."""
    x = torch.randn(1, length, 8).requires_grad_()
    out = made(x, Mask()).states if kind == "encoder" else made(x, None, Mask())
    (gradient,) = torch.autograd.grad(out[0, at].sum() + out[0, at].square().sum(), x)
    return [place - at for place in gradient[0].abs().sum(-1).nonzero().flatten().tolist()]


@pytest.mark.parametrize(("layers", "kernel_size", "dilation"), [(1, 3, 2), (2, 3, 1), (3, 3, 2), (2, 5, 3), (3, 3, 3)])
def test_an_encoder_sees_as_far_as_its_layers_reach_together(layers: int, kernel_size: int, dilation: int) -> None:
    """Σ_l (kernel_size-1)/2 · dilation^l to either side: with dilation it grows by powers, not by sums."""
    made = stack("encoder", layers=layers, kernel_size=kernel_size, dilation=dilation)
    reach = sum((kernel_size - 1) // 2 * dilation**layer for layer in range(layers))
    found = seen(made, "encoder", 2 * reach + 9, reach + 4)
    assert (min(found), max(found)) == (-reach, reach)


@pytest.mark.parametrize(("layers", "kernel_size", "dilation"), [(1, 2, 1), (2, 3, 1), (3, 3, 2), (4, 2, 2), (2, 5, 3)])
def test_a_decoder_sees_as_far_back_and_nothing_ahead(layers: int, kernel_size: int, dilation: int) -> None:
    made = stack("decoder", layers=layers, kernel_size=kernel_size, dilation=dilation)
    reach = sum((kernel_size - 1) * dilation**layer for layer in range(layers))
    found = seen(made, "decoder", reach + 9, reach + 4)
    assert (min(found), max(found)) == (-reach, 0)


def test_an_even_kernel_has_no_middle() -> None:
    with pytest.raises(Exception, match="kernel_size: 4 neighbours have no middle; choose an odd number"):
        stack("encoder", kernel_size=4)
