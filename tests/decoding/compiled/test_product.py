"""One product in eight bits by the machine code, beside the same one written out."""

from collections.abc import Iterator

import pytest
import torch
from contracts.small import some
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from regard.decoding.compiled import product
from regard.decoding.compiled.machine_code import Code, packs_eighths
from regard.model.quantize import QuantizedLinear, in_eight_bits


class Given:
    """Machine code that is there, or is not."""

    def __init__(self, code: Code | None) -> None:
        self.get = lambda: code


@pytest.fixture(autouse=True, scope="module")
def _there(code: Code) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, torch.inference_mode():
        patch.setattr(product, "MACHINE_CODE", Given(code))
        yield


def eighths(inputs: int, outputs: int, bias: bool = True) -> QuantizedLinear:
    torch.manual_seed(inputs * outputs)
    return QuantizedLinear.of(nn.Linear(inputs, outputs, bias), rounds_inputs=False)


@some
@given(
    rows=st.sampled_from([1, 2, 5, 8, 9, 16, 31, 33, 64, 70, 129, 1030]),
    sizes=st.tuples(st.sampled_from([1, 7, 63, 64, 65, 130, 300, 577]), st.sampled_from([1, 5, 24, 49, 130])),
    bias=st.booleans(),
)
def test_near_the_product_that_is_written_out(rows: int, sizes: tuple[int, int], bias: bool) -> None:
    linear = eighths(*sizes, bias)
    x = torch.randn(rows, sizes[0])
    found, wanted = product.multiply(linear, x), F.linear(x, linear.weight(), linear.bias)
    assert found is not None
    assert (found - wanted).abs().max() <= 0.02 * wanted.abs().max() + 1e-3


def test_a_row_that_sticks_out_spoils_no_other() -> None:
    linear, x = eighths(130, 24), torch.randn(12, 130)
    alone = product.multiply(linear, x)
    x[5] *= 1000.0
    beside = product.multiply(linear, x)
    assert alone is not None
    assert beside is not None
    others = [row for row in range(12) if row != 5]
    assert torch.equal(alone[others], beside[others])


def test_any_shape_before_the_last() -> None:
    linear, x = eighths(64, 8), torch.randn(3, 5, 64)
    flat, found = product.multiply(linear, x.flatten(0, 1)), product.multiply(linear, x.transpose(0, 1))
    assert flat is not None
    assert found is not None
    assert torch.equal(found.transpose(0, 1), flat.unflatten(0, (3, 5)))


def test_what_is_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    linear, x = eighths(64, 8), torch.randn(16, 64)
    assert product.multiply(linear, x[:0]) is None
    assert product.multiply(linear, x.double()) is None
    with torch.inference_mode(False), torch.enable_grad():
        assert product.multiply(linear, torch.randn(16, 64)) is None
    monkeypatch.setattr(product, "MACHINE_CODE", Given(None))
    assert product.multiply(linear, x) is None


def test_a_model_is_taught() -> None:
    exact, rounds = eighths(64, 8), QuantizedLinear.of(nn.Linear(64, 8))
    product.teach(nn.Sequential(exact, rounds))
    assert exact.product is rounds.product is product.multiply
    x = torch.randn(16, 64)
    assert torch.equal(exact(x), product.multiply(exact, x))


@pytest.mark.parametrize("rounds", [False, True], ids=["language model", "translator"])
@pytest.mark.parametrize("size", [5, 64, 130, 577])
def test_a_row_is_the_same_in_any_company(size: int, rounds: bool) -> None:
    """Whichever kernel so many rows are given to."""
    torch.manual_seed(size)
    linear, x = QuantizedLinear.of(nn.Linear(size, 49), rounds_inputs=rounds), torch.randn(70, size)
    alone = torch.cat([product.multiply(linear, row) for row in x.split(1)])
    for count in (2, 3, 4, 6, 7, 10, 11, 17, 33, 70):
        torch.testing.assert_close(product.multiply(linear, x[:count]), alone[:count], rtol=0, atol=1e-5)
    if not (rounds and packs_eighths()):
        wanted = F.linear(in_eight_bits(x), linear.weight(), linear.bias)
        torch.testing.assert_close(alone, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("rows", [3, 12, 40])
def test_what_is_no_number_stays_none(rows: int) -> None:
    linear, x = eighths(130, 24), torch.randn(rows, 130)
    alone = product.multiply(linear, x)
    x[0, 70], x[2, 129] = torch.nan, torch.inf
    found = product.multiply(linear, x)
    assert alone is not None
    assert found is not None
    assert not found[[0, 2]].isfinite().any()
    others = [row for row in range(rows) if row not in (0, 2)]
    assert torch.equal(found[others], alone[others])
