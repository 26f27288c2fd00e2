"""Weights that are packed in passing: products of any size, and nothing written beside them."""

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
from regard.decoding.compiled.machine_code import Code
from regard.decoding.compiled.product import run_product
from regard.decoding.compiled.weights import Weights
from regard.model.quantize import QuantizedLinear

MARK = 777.0
ROWS = st.sampled_from([32, 35, 64, 65, 70, 131])
SIZES = st.tuples(st.sampled_from([1, 7, 64, 65, 130, 770, 1000]), st.sampled_from([1, 5, 16, 17, 49, 130, 400]))


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with torch.inference_mode():
        yield


def multiplied(code: Code, linear: nn.Module, x: Tensor, outputs: int) -> Tensor:
    """By weights as they stand; what lies before and behind the result stays as it is."""
    weights, room = Weights(), torch.full((len(x) + 4, outputs), MARK)
    out = room[2:-2]
    matrix = np.array([weights.matrix(linear, outputs, x.shape[1])])
    assert not matrix[0, at.PACKED :].any()
    run_product(code, matrix[0], x, out.fill_(torch.nan))
    assert (room[:2] == MARK).all()
    assert (room[-2:] == MARK).all()
    return out


@pytest.mark.usefixtures("threads")
@some
@given(rows=ROWS, sizes=SIZES, bias=st.booleans())
def test_the_product_of_float32(code: Code, rows: int, sizes: tuple[int, int], bias: bool) -> None:
    torch.manual_seed(rows)
    linear, x = nn.Linear(*sizes, bias), torch.randn(rows, sizes[0])
    torch.testing.assert_close(multiplied(code, linear, x, sizes[1]), linear(x), rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("threads")
@some
@given(rows=ROWS, sizes=SIZES, bias=st.booleans())
def test_the_product_of_eight_bits(code: Code, rows: int, sizes: tuple[int, int], bias: bool) -> None:
    """Rows in sixteen bits lose next to nothing, those in eight of a processor with such products a little."""
    torch.manual_seed(rows)
    linear, x = QuantizedLinear.of(nn.Linear(*sizes, bias), rounds_inputs=False), torch.randn(rows, sizes[0])
    found, wanted = multiplied(code, linear, x, sizes[1]), F.linear(x, linear.weight(), linear.bias)
    assert (found - wanted).norm() < 0.02 * wanted.norm()


@pytest.mark.parametrize("eight", [False, True])
def test_what_is_no_number_stays_in_its_row(code: Code, eight: bool) -> None:
    plain, x = nn.Linear(130, 70), torch.randn(70, 130)
    x[3, 100] = torch.nan
    found = multiplied(code, QuantizedLinear.of(plain, rounds_inputs=False) if eight else plain, x, 70)
    assert found[3].isnan().all()
    assert not found[:3].isnan().any()
    assert not found[4:].isnan().any()
