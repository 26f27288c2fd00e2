"""Experts: the same as asking each token's experts one by one, at the cost of the active ones."""

from copy import deepcopy
from importlib import import_module
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.model.mechanism import auxiliary_loss
from regard.model.mlp.experts import Experts

many = settings(deadline=None, max_examples=25, derandomize=True, suppress_health_check=list(HealthCheck))
ACTIVATIONS = ["relu", "gelu", "swiglu"]


def made(width: int, **options: Any) -> Experts:
    torch.manual_seed(0)
    experts = Experts(width, **options)
    with torch.no_grad():
        for parameter in experts.parameters():
            parameter.normal_(std=0.5)
    return experts


def bent(inner: Tensor, activation: str) -> Tensor:
    if activation == "swiglu":
        gate, value = inner.chunk(2, -1)
        return F.silu(gate) * value
    return F.relu(inner) if activation == "relu" else F.gelu(inner)


def one_by_one(experts: Experts, x: Tensor, among_all: bool) -> Tensor:
    """Σ over the A best of E, token after token: softmax(top_A(x W_r))_e · MLP_e(x), or softmax(x W_r)_e · MLP_e(x)."""
    rows = []
    for token in x.flatten(0, 1):
        scores = experts.route(token)
        best, chosen = scores.topk(experts.active)
        shares = scores.softmax(-1)[chosen] if among_all else best.softmax(-1)
        answers = [experts.down[e] @ bent(experts.up[e] @ token, experts.activation) for e in chosen]
        rows.append(sum(share * answer for share, answer in zip(shares, answers, strict=True)))
    return torch.stack(rows).view_as(x)


def gradients(experts: Experts, x: Tensor, forward: Any) -> list[Tensor]:
    experts.zero_grad()
    x = x.clone().requires_grad_()
    out = forward(x)
    (out * torch.cos(torch.arange(out.numel()).view_as(out) * 0.3)).sum().backward()
    return [out.detach(), x.grad, *(parameter.grad.clone() for parameter in experts.parameters())]


@many
@given(
    width=st.sampled_from([1, 3, 5, 7, 8, 13, 16]),
    hidden=st.sampled_from([1, 4, 7, 8, 11]),
    experts=st.sampled_from([1, 2, 3, 5]),
    active=st.integers(1, 5),
    activation=st.sampled_from(ACTIVATIONS),
    portions=st.sampled_from(["auto", "active", "all"]),
    tokens=st.integers(1, 12),
)
def test_experts_together_equal_experts_one_by_one(
    width: int, hidden: int, experts: int, active: int, activation: str, portions: str, tokens: int
) -> None:
    active = min(active, experts)
    layer = made(width, experts=experts, active=active, hidden=hidden, activation=activation, portions=portions)
    among_all = portions == "all" or (portions == "auto" and active == 1)
    x = torch.randn(2, tokens, width)
    together = gradients(layer, x, layer)
    apart = gradients(layer, x, lambda given: one_by_one(layer, given, among_all))
    for one, other in zip(together, apart, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_an_expert_nobody_chose_gets_a_zero_gradient() -> None:
    layer = made(8, experts=4, active=1, hidden=8)
    with torch.no_grad():
        layer.route.weight.zero_()
        layer.route.weight[2] = 1.0
    layer(torch.rand(1, 5, 8)).sum().backward()
    used = layer.up.grad.abs().sum((1, 2)) > 0
    assert used.tolist() == [False, False, True, False]
    assert layer.down.grad.isfinite().all()


def rows_multiplied(monkeypatch: pytest.MonkeyPatch, experts: int, active: int) -> int:
    """How many rows go through a matrix of an expert in one pass over 64 tokens."""
    module = import_module("regard.model.mlp.experts")
    counted: list[int] = []
    grouped = module.grouped
    monkeypatch.setattr(module, "grouped", lambda x, *rest: counted.append(len(x)) or grouped(x, *rest))
    made(16, experts=experts, active=active, hidden=32)(torch.randn(1, 64, 16))
    monkeypatch.undo()
    return sum(counted)


def test_cost_follows_the_active_and_not_the_experts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rows_multiplied(monkeypatch, 4, 2) == rows_multiplied(monkeypatch, 16, 2) == 2 * 64 * 2
    assert rows_multiplied(monkeypatch, 16, 4) == 2 * 64 * 4


def test_parameters_grow_with_the_experts() -> None:
    def size(experts: int) -> int:
        return sum(parameter.numel() for parameter in made(16, experts=experts, active=1, hidden=32).parameters())

    assert size(8) == 2 * size(4) == 8 * size(1)


def test_imbalance_is_one_when_all_are_used_alike() -> None:
    layer = made(4, experts=4, active=1, hidden=4)
    with torch.no_grad():
        layer.route.weight.copy_(50 * torch.eye(4))
    layer(torch.eye(4)[None])
    assert layer.imbalance.item() == pytest.approx(1.0)


@pytest.mark.parametrize("experts", [2, 3, 8])
def test_imbalance_is_the_number_of_experts_when_one_does_everything(experts: int) -> None:
    layer = made(4, experts=experts, active=1, hidden=4)
    with torch.no_grad():
        layer.route.weight.fill_(-50.0)
        layer.route.weight[1] = 50.0
    layer(torch.rand(2, 5, 4) + 0.5)
    assert layer.imbalance.item() == pytest.approx(experts)


def test_the_balance_loss_pulls_towards_even_use() -> None:
    layer = made(6, experts=4, active=1, hidden=4, balance=1.0)
    x = torch.randn(1, 200, 6) + 1.0
    optimizer = torch.optim.SGD(layer.route.parameters(), lr=1.0)
    seen = []
    for _ in range(60):
        layer(x)
        cost = auxiliary_loss(layer)
        assert cost is not None
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
        seen.append(float(cost.detach()))
    assert seen[-1] < min(seen[0], 1.2)


def test_there_is_no_balance_loss_outside_training() -> None:
    layer = made(4, experts=2, active=1, hidden=4).eval()
    layer(torch.randn(1, 3, 4))
    assert layer.imbalance is None
    assert auxiliary_loss(layer) is None


def test_the_loss_of_a_pass_is_handed_over_once() -> None:
    """A module that kept it would hold the whole graph of an earlier pass, and could not be copied."""
    layer = made(4, experts=2, active=1, hidden=4)
    layer(torch.randn(1, 3, 4))
    assert auxiliary_loss(layer) is not None
    assert auxiliary_loss(layer) is None
    deepcopy(layer)


def test_more_active_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="5 of 4 experts cannot be active"):
        Experts(4, experts=4, active=5)
