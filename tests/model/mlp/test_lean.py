"""The lean second half of an MLP: the plain formula, with less kept."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.model.mlp.lean import Activation, activate, project_down
from regard.model.mlp.mlp import Gelu, Swiglu

ACTIVATIONS: list[Activation] = ["gelu", "gelu_tanh", "swiglu"]


def inputs(activation: Activation, biased: bool) -> list[Tensor]:
    torch.manual_seed(0)
    inner = torch.randn(3, 5, 22 if activation == "swiglu" else 11)
    given = [inner, torch.randn(7, 11), *([torch.randn(7)] if biased else [])]
    return [tensor.requires_grad_() for tensor in given]


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("biased", [True, False])
def test_lean_equals_plain_in_values_and_gradients(activation: Activation, biased: bool) -> None:
    given = inputs(activation, biased)
    bias = given[2] if biased else None
    lean, plain = (
        project_down(given[0], given[1], bias, activation),
        F.linear(activate(given[0], activation), given[1], bias),
    )
    grad = torch.randn_like(plain)
    torch.testing.assert_close(lean, plain, rtol=0, atol=0)
    for one, other in zip(torch.autograd.grad(lean, given, grad), torch.autograd.grad(plain, given, grad), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_gradient_is_the_slope(activation: Activation) -> None:
    given = [tensor.detach().double().requires_grad_() for tensor in inputs(activation, True)]
    assert torch.autograd.gradcheck(lambda *tensors: project_down(*tensors, activation), given)


@pytest.mark.parametrize(("kind", "kept"), [(Gelu, 1), (Swiglu, 2)])
def test_only_the_input_of_the_bend_is_kept(kind: type[Gelu | Swiglu], kept: int) -> None:
    held: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        held[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    mlp = kind(8, hidden=40)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        mlp(torch.randn(2, 50, 8, requires_grad=True))
    rows, weights = 100, sum(parameter.nbytes for parameter in mlp.parameters())
    assert sum(held.values()) <= 4 * rows * (8 + kept * 40) + weights
