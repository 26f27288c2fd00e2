"""Optimisers: which parameter goes where, and what a step is."""

from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from regard.model.assembly import Assembly
from regard.model.build import build
from regard.training.menu import MENU
from regard.training.optimizer import Adamw, Muon, Orthogonal, orthogonal, parameters

many = settings(deadline=None, max_examples=40, derandomize=True, suppress_health_check=list(HealthCheck))
HEADS = {"kind": "multihead", "heads": 2}
STACKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "recurrent": ({"kind": "recurrent"}, {"kind": "recurrent", "attention": "additive"}),
    "convolution": ({"kind": "convolution", "layers": 2}, {"kind": "convolution", "layers": 2}),
    "transformer": (
        {"kind": "transformer", "layers": 2, "attention": HEADS},
        {"kind": "transformer", "layers": 2, "attention": HEADS, "cross": HEADS, "mlp": "experts"},
    ),
}


def made(stack: str, tie: str = "none") -> Assembly:
    encoder, decoder = STACKS[stack]
    sizes = {"width": 12, "source_vocab_size": 13, "target_vocab_size": 13, "tie_embeddings": tie}
    return build({"model": {"kind": "seq2seq", "encoder": encoder, "decoder": decoder, **sizes}})


def held(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("tie", ["none", "all"])
@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_every_parameter_has_exactly_one_optimizer(stack: str, tie: str, kind: str) -> None:
    tie = "output" if (stack, tie) == ("recurrent", "all") else tie
    model = made(stack, tie)
    optimizers = MENU.order("optimizer", kind, "optimizer").build().make(model)
    everything = [id(parameter) for optimizer in optimizers for parameter in held(optimizer)]
    assert sorted(everything) == sorted({id(parameter) for parameter in model.parameters()})


def test_frozen_parameters_are_left_alone() -> None:
    model = made("transformer")
    frozen = next(iter(model.parameters())).requires_grad_(False)
    assert len(parameters(model)) == len(list(model.parameters())) - 1
    for optimizer in (*Adamw().make(model), *Muon().make(model)):
        assert all(parameter is not frozen for parameter in held(optimizer))


def test_matrices_decay_and_gains_and_biases_do_not() -> None:
    (optimizer,) = Adamw(learning_rate=0.5, beta1=0.8, beta2=0.9, weight_decay=0.2).make(made("transformer"))
    matrices, others = optimizer.param_groups
    assert {parameter.ndim for parameter in matrices["params"]} == {2, 3}
    assert {parameter.ndim for parameter in others["params"]} == {1}
    assert (matrices["weight_decay"], others["weight_decay"]) == (0.2, 0.0)
    assert all(
        group["base_lr"] == 0.5 and group["betas"] == (0.8, 0.9) and group["fused"] for group in (matrices, others)
    )


def test_a_model_of_matrices_alone_has_one_group() -> None:
    (optimizer,) = Adamw().make(nn.Linear(3, 2, bias=False))
    assert [len(group["params"]) for group in optimizer.param_groups] == [1]


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("tie", ["none", "output"])
def test_muon_takes_the_matrices_inside_and_neither_embeddings_nor_head(stack: str, tie: str) -> None:
    model = made(stack, tie)
    adamw, muon = Muon(adamw_learning_rate=0.3, learning_rate=0.1).make(model)
    assert isinstance(adamw, torch.optim.AdamW)
    assert isinstance(muon, Orthogonal)
    outer = {id(model.head.weight)} | {id(part.weight) for part in model.modules() if isinstance(part, nn.Embedding)}
    inner = {id(parameter) for parameter in held(muon)}
    assert inner
    assert not inner & outer
    assert all(parameter.ndim == 2 for parameter in held(muon))
    assert inner | outer == {id(parameter) for parameter in model.parameters() if parameter.ndim == 2}
    assert [group["base_lr"] for group in (*adamw.param_groups, *muon.param_groups)] == [0.3, 0.3, 0.1]


def test_without_matrices_inside_muon_is_adamw_alone() -> None:
    (only,) = Muon().make(nn.Sequential(nn.Embedding(5, 3), nn.LayerNorm(3)))
    assert isinstance(only, torch.optim.AdamW)


@many
@given(rows=st.integers(1, 24), columns=st.integers(1, 24), count=st.integers(1, 3), seed=st.integers(0, 99))
def test_orthogonal_makes_all_singular_values_about_one(rows: int, columns: int, count: int, seed: int) -> None:
    """The polynomial of Jordan et al. does not settle on one but between about 0.7 and 1.2, which is enough."""
    given = torch.randn(count, rows, columns, generator=torch.Generator().manual_seed(seed))
    u, s, v = torch.linalg.svd(given, full_matrices=False)
    made = orthogonal(given)
    kept = torch.linalg.svdvals(made)[s > 0.05 * s[:, :1]]  # what is next to nothing stays small for longer
    assert kept.min() > 0.5
    assert kept.max() < 1.3
    pointing = (made * (u @ v)).sum((1, 2)) / (made.norm(dim=(1, 2)) * (u @ v).norm(dim=(1, 2)))
    assert pointing.min() > 0.9


def test_more_rounds_keep_the_singular_vectors() -> None:
    given = torch.randn(2, 7, 11, generator=torch.Generator().manual_seed(0))
    u, _, v = torch.linalg.svd(given, full_matrices=False)
    turned = u.mT @ orthogonal(given, 8) @ v.mT
    off = turned - torch.diag_embed(turned.diagonal(dim1=1, dim2=2))
    torch.testing.assert_close(off, torch.zeros_like(off), atol=1e-4, rtol=0)


def test_a_gradient_of_zero_stays_zero() -> None:
    assert torch.equal(orthogonal(torch.zeros(2, 3, 5)), torch.zeros(2, 3, 5))


def one_by_one(matrix: Tensor) -> Tensor:
    """Newton-Schulz as it is published, a matrix at a time, never turned around."""
    x = matrix / (matrix.norm() + 1e-7)
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x - 4.7750 * square @ x + 2.0315 * square @ square @ x
    return x


SHAPES = [(4, 6), (6, 4), (4, 6), (5, 5), (8, 3), (1, 7)]


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_matrices_together_step_as_each_by_itself(decay: float) -> None:
    generator = torch.Generator().manual_seed(3)
    matrices = [nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]
    naive = [matrix.detach().double() for matrix in matrices]
    moments = [torch.zeros_like(matrix) for matrix in naive]
    optimizer = Orthogonal(matrices, 0.1, 0.9, decay)
    for step in range(4):
        for place, matrix in enumerate(matrices):
            matrix.grad = torch.randn(matrix.shape, generator=generator)
            moments[place] = 0.9 * moments[place] + matrix.grad
            ahead = matrix.grad + 0.9 * moments[place]
            scale = max(1.0, matrix.shape[0] / matrix.shape[1]) ** 0.5
            rate = 0.1 / (1 + step)
            naive[place] = naive[place] * (1 - rate * decay) - rate * scale * one_by_one(ahead)
        for group in optimizer.param_groups:
            group["lr"] = 0.1 / (1 + step)
        optimizer.step()
    for matrix, wanted in zip(matrices, naive, strict=True):
        torch.testing.assert_close(matrix.detach().double(), wanted, rtol=1e-4, atol=1e-4)


def test_a_matrix_without_a_gradient_is_not_moved() -> None:
    moved, still = nn.Parameter(torch.ones(3, 3)), nn.Parameter(torch.ones(3, 3))
    moved.grad = torch.eye(3)
    Orthogonal([still, moved], 0.1, 0.9, 0.5).step()
    assert torch.equal(still, torch.ones(3, 3))
    assert not torch.equal(moved, torch.ones(3, 3))
