"""Cross-entropy in slices is cross-entropy, values and gradients, and all logits are never there at once."""

from typing import Any
from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from regard.tasks import cross_entropy as module
from regard.tasks.cross_entropy import cross_entropy

some = settings(deadline=None, max_examples=60, derandomize=True)
Known = tuple[Tensor, nn.Linear, Tensor]


def made(rows: int = 7, width: int = 5, words: int = 11, bias: bool = True) -> Known:
    torch.manual_seed(rows + 10 * width + 100 * words)
    head = nn.Linear(width, words, bias)
    return torch.randn(rows, width, requires_grad=True), head, torch.randint(words, (rows,))


def gradients(total: Tensor, states: Tensor, head: nn.Linear) -> list[Tensor]:
    return list(torch.autograd.grad(total, [states, *head.parameters()]))


@some
@given(
    rows=st.integers(0, 13),
    width=st.integers(1, 7),
    words=st.integers(1, 17),
    bias=st.booleans(),
    smoothing=st.sampled_from([0, 0.0, 0.1, 0.7]),
    at_once=st.integers(1, 240),
)
def test_slices_are_the_whole(
    rows: int, width: int, words: int, bias: bool, smoothing: int | float, at_once: int
) -> None:
    """Slices of one row up to all of them, the last one shorter; scaled, as a mean over a batch would be."""
    states, head, labels = made(rows, width, words, bias)
    with patch.object(module, "SLICE", at_once):
        total, plain = cross_entropy(states, head, labels, smoothing)
        found = gradients(total / 3, states, head)
    logits = head(states)
    right = F.cross_entropy(logits, labels, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(total, right, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(plain, F.cross_entropy(logits, labels, reduction="sum"), rtol=1e-5, atol=1e-5)
    for one, other in zip(found, gradients(right / 3, states, head), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_a_tied_table_gets_the_gradients_of_both_its_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE", 30)
    torch.manual_seed(0)
    table, head = nn.Embedding(11, 5), nn.Linear(5, 11)
    head.weight = table.weight
    asked, labels = torch.randint(11, (9,)), torch.randint(11, (9,))
    cross_entropy(table(asked).tanh(), head, labels, 0.1)[0].backward()
    found, table.weight.grad = table.weight.grad, None
    F.cross_entropy(head(table(asked).tanh()), labels, reduction="sum", label_smoothing=0.1).backward()
    torch.testing.assert_close(found, table.weight.grad)


def test_gradients_of_large_logits_are_finite() -> None:
    states, head, labels = made()
    total, plain = cross_entropy(states * 1e4, head, labels, 0.1)
    assert total.isfinite()
    assert plain.isfinite()
    assert all(gradient.isfinite().all() for gradient in gradients(total, states, head))


def test_the_plain_loss_is_only_to_be_read() -> None:
    states, head, labels = made()
    total, plain = cross_entropy(states, head, labels, 0.5)
    assert total.requires_grad
    assert not plain.requires_grad
    assert not torch.isclose(total, plain)


@pytest.mark.parametrize("frozen", ["states", "weight", "bias"])
def test_a_frozen_part_gets_no_gradient_and_the_others_theirs(frozen: str) -> None:
    states, head, labels = made()
    parts = {"states": states, "weight": head.weight, "bias": head.bias}
    parts[frozen].requires_grad_(False)
    cross_entropy(states, head, labels)[0].backward()
    found = {name: part.grad for name, part in parts.items()}
    assert found.pop(frozen) is None
    for name, other in found.items():
        right = F.cross_entropy(head(states), labels, reduction="sum")
        torch.testing.assert_close(other, torch.autograd.grad(right, parts[name])[0])


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_no_gradients_are_made_for_nobody(mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    states, head, labels = made()
    right = [tensor.detach() for tensor in cross_entropy(states, head, labels, 0.1)]
    monkeypatch.setattr(module, "_slice_gradient", None)
    with mode():
        total, plain = cross_entropy(states, head, labels, 0.1)
    assert not total.requires_grad
    assert [total, plain] == right
    assert list(cross_entropy(states.detach(), head.requires_grad_(False), labels, 0.1)) == right


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("bias", [True, False])
def test_half_precision_is_near_the_whole(kind: torch.dtype, bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under autocast the states come in either kind; weights and their gradients stay in float32."""
    monkeypatch.setattr(module, "SLICE", 30)
    states, head, labels = made(bias=bias)
    right = gradients(F.cross_entropy(head(states), labels, reduction="sum", label_smoothing=0.1), states, head)
    with torch.autocast("cpu", torch.bfloat16):
        total, plain = cross_entropy(states.to(kind), head, labels, 0.1)
    assert (total.dtype, plain.dtype) == (torch.float32, torch.float32)
    found = gradients(total, states, head)
    for one, other in zip(found, right, strict=True):
        torch.testing.assert_close(one, other, rtol=0.05, atol=0.05)


class Largest(TorchDispatchMode):
    """Notes the numbers in the largest tensor that anything makes."""

    def __init__(self) -> None:
        super().__init__()
        self.found = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, (tuple, list)) else (out,):
            self.found = max(self.found, tensor.numel() if isinstance(tensor, Tensor) else 0)
        return out


def test_all_logits_are_never_there_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE", 2_000)
    rows, width, words = 64, 4, 300
    states, head, labels = made(rows, width, words)
    with Largest() as sliced:
        cross_entropy(states, head, labels, 0.1)[0].backward()
    with Largest() as whole:
        F.cross_entropy(head(states), labels, reduction="sum").backward()
    assert whole.found == rows * words
    assert words < sliced.found <= 2_000


def test_a_row_larger_than_a_slice_goes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE", 5)
    states, head, labels = made(rows=3, width=2, words=30)
    with Largest() as seen:
        total, _ = cross_entropy(states, head, labels)
        total.backward()
    assert seen.found == 2 * 30  # the head itself
    torch.testing.assert_close(total, F.cross_entropy(head(states), labels, reduction="sum"))


def test_chances_are_summed_in_whole_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of eight thousand words in half precision they would sum to anything near one."""
    kinds, softmax = list[torch.dtype | None](), F.log_softmax

    def noted(x: torch.Tensor, dim: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        kinds.append(dtype)
        return softmax(x, dim, dtype=dtype)

    monkeypatch.setattr(F, "log_softmax", noted)
    states, head, labels = made()
    with torch.autocast("cpu", torch.bfloat16):
        cross_entropy(states.to(torch.bfloat16), head, labels)
    assert kinds
    assert set(kinds) == {torch.float32}
