"""Short rows by head: the numbers of the formula, and only where they are worth while."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.model.attention.kernels import short as module
from regard.model.attention.kernels.flash import fused
from regard.model.attention.kernels.short import is_short, short


def heads(rows: int, length: int, count: int, width: int, kind: torch.dtype = torch.float64) -> Tensor:
    """As they are cut out of one product: neighbours in memory are numbers of all heads."""
    return torch.randn(rows, length, count * width, dtype=kind).view(rows, length, count, width).transpose(1, 2)


@pytest.mark.parametrize(("queries", "keys"), [(7, 7), (3, 11), (1, 5)])
def test_values_and_gradients_are_those_of_the_formula(queries: int, keys: int) -> None:
    torch.manual_seed(0)
    given = [heads(2, queries, 3, 4), heads(2, keys, 3, 4), heads(2, keys, 3, 5)]
    back, results = torch.randn(2, 3, queries, 5, dtype=torch.float64), []
    for how in (lambda q, k, v: short(q, k, v, 0.3), lambda q, k, v: F.softmax(0.3 * q @ k.mT, -1) @ v):
        leaves = [each.detach().requires_grad_() for each in given]
        out = how(*leaves)
        results.append([out.detach(), *torch.autograd.grad(out, leaves, back)])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)


def test_a_second_derivative_is_refused_rather_than_wrong() -> None:
    given = [heads(1, 3, 1, 2).requires_grad_() for _ in range(3)]
    back = torch.ones(1, 1, 3, 2, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(short(*given, 1.0), given[0], back, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_it_is_taken_for_many_short_rows_that_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST", 2 * 9 * 9)
    asked = heads(2, 9, 3, 4, torch.float32).requires_grad_()
    assert is_short(asked, asked, asked)
    with torch.no_grad():
        assert not is_short(asked, asked, asked)
    assert not is_short(asked.detach(), asked.detach(), asked.detach())
    assert not is_short(asked[:1], asked[:1], asked[:1])  # too little to do
    assert not is_short(asked, asked[:, :1], asked[:, :1])  # heads share keys
    assert not is_short(asked.bfloat16(), asked.bfloat16(), asked.bfloat16())
    assert not is_short(asked.to("meta"), asked.to("meta"), asked.to("meta"))
    with torch.autocast("cpu", torch.bfloat16):
        assert not is_short(asked, asked, asked)
    monkeypatch.setattr(module, "LONGEST", 8)
    assert not is_short(asked, asked, asked)


def test_masks_and_dropout_are_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST", 0)
    x = heads(2, 5, 1, 4).requires_grad_()
    names = [
        type(fused(x, x, x, mask, scale=1.0, dropout=dropout, causal=causal).grad_fn).__name__
        for mask, dropout, causal in (
            (None, 0.0, False),
            (torch.ones(5, 5, dtype=torch.bool), 0.0, False),
            (None, 0.1, False),
            (None, 0.0, True),
        )
    ]
    assert [name == "_ShortBackward" for name in names] == [True, False, False, False]
