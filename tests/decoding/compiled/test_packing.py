"""Weights in panels: products of any size, packed once, anew where weights changed, and not where they are large."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from contracts.small import some
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from regard.decoding.compiled import layout as at
from regard.decoding.compiled import packing
from regard.decoding.compiled.machine_code import Code, packs_eighths
from regard.decoding.compiled.packing import laid, panels
from regard.decoding.compiled.product import run_product
from regard.decoding.compiled.weights import Weights
from regard.model.quantize import QuantizedLinear


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with torch.inference_mode():
        yield


def multiplied(code: Code, linear: nn.Module, x: Tensor, outputs: int) -> Tensor:
    weights, out = Weights(), torch.full((len(x), outputs), torch.nan)
    matrix = np.array([weights.matrix(linear, outputs, x.shape[1])])
    weights.pack(matrix)
    assert matrix[0, at.PACKED] != 0
    run_product(code, matrix[0], x, out)
    return out


@pytest.mark.usefixtures("threads")
@some
@given(
    rows=st.integers(4, 70),
    sizes=st.tuples(st.sampled_from([1, 7, 63, 64, 65, 130, 300]), st.sampled_from([1, 5, 16, 17, 49, 130, 400])),
    bias=st.booleans(),
)
def test_the_product_of_float32(code: Code, rows: int, sizes: tuple[int, int], bias: bool) -> None:
    torch.manual_seed(rows)
    linear, x = nn.Linear(*sizes, bias), torch.randn(rows, sizes[0])
    torch.testing.assert_close(multiplied(code, linear, x, sizes[1]), linear(x), rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(not packs_eighths(), reason="this processor has other products of whole numbers")
@pytest.mark.parametrize(("translator", "error"), [(False, 0.01), (True, 0.03)])
@pytest.mark.parametrize("sizes", [(256, 400), (65, 17), (1, 5), (1024, 16)])
def test_the_product_of_eight_bits(code: Code, translator: bool, error: float, sizes: tuple[int, int]) -> None:
    """Rows have eight bits; those of translators have seven, as their weights."""
    torch.manual_seed(1)
    linear, x = QuantizedLinear.of(nn.Linear(*sizes), rounds_inputs=translator), torch.randn(37, sizes[0])
    found, wanted = multiplied(code, linear, x, sizes[1]), F.linear(x, linear.weight(), linear.bias)
    assert (found - wanted).norm() < error * wanted.norm()


@pytest.mark.skipif(not packs_eighths(), reason="this processor has other products of whole numbers")
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_sums_of_the_largest_numbers_fit(code: Code, sign: float) -> None:
    """All weights and all numbers at the end of their range: sums of sixteen bits must not run over."""
    linear = nn.Linear(256, 32, bias=False)
    linear.weight.fill_(sign * 0.5)
    rounded = QuantizedLinear.of(linear)
    for x in (torch.ones(9, 256), -torch.ones(9, 256)):
        torch.testing.assert_close(multiplied(code, rounded, x, 32), linear(x), rtol=1e-3, atol=1e-3)


def test_packed_once_and_anew_where_weights_changed() -> None:
    with torch.inference_mode(False):
        linear = nn.Linear(8, 20)
    first = panels(linear)
    assert first is not None
    assert panels(linear) is first
    with torch.inference_mode(False), torch.no_grad():
        linear.weight.mul_(2.0)
    again = panels(linear)
    assert again is not None
    assert again is not first
    assert torch.equal(again.weights, 2 * first.weights)


def test_panels_hold_columns_of_outputs() -> None:
    width = packing.panel_width()
    weight = torch.arange(3.0 * (width + 1)).view(width + 1, 3)
    found = laid(weight)
    assert found.shape == (2, 3, width)
    assert torch.equal(found[0], weight[:width].T)
    assert torch.equal(found[1, :, 0], weight[width])
    assert not found[1, :, 1:].any()


def test_large_models_are_not_held_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    weights, linear = Weights(), nn.Linear(8, 20)
    matrix = np.array([weights.matrix(linear, 20, 8)])
    monkeypatch.setattr(packing, "MOST", linear.weight.nbytes - 1)
    weights.pack(matrix)
    assert not matrix[0, at.PACKED :].any()
    monkeypatch.setattr(packing, "MOST", linear.weight.nbytes)
    weights.pack(matrix)
    assert matrix[0, at.PACKED] != 0
