"""Weights by name: each once, and never into a model they do not belong to."""

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import nn

from regard.errors import InputError
from regard.model.assembly import Assembly
from regard.model.build import build
from regard.model.weights import fit, load, named, shell

HEADS = {"kind": "multihead", "heads": 2}


def made(width: int = 8, tie: str = "all") -> Assembly:
    table: dict[str, Any] = {
        "kind": "seq2seq",
        "width": width,
        "source_vocab_size": 11,
        "target_vocab_size": 11,
        "tie_embeddings": tie,
        "encoder": {"kind": "transformer", "layers": 1, "attention": HEADS},
        "decoder": {"kind": "transformer", "layers": 1, "attention": HEADS, "cross": HEADS},
    }
    return build({"model": table})


def shapes(model: nn.Module) -> dict[str, list[int]]:
    return {name: list(tensor.shape) for name, tensor in named(model).items()}


def test_a_tensor_used_twice_is_named_once() -> None:
    tied, loose = named(made()), named(made(tie="none"))
    assert len({id(tensor) for tensor in tied.values()}) == len(tied)
    assert len(loose) == len(tied) + 2


def test_every_parameter_has_a_name() -> None:
    model = made()
    assert {id(tensor) for tensor in model.parameters()} <= {id(tensor) for tensor in named(model).values()}


def test_learnt_buffers_are_named_and_others_are_not() -> None:
    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(3)
            self.register_buffer("made_again", torch.ones(2), persistent=False)

    assert set(named(Counted())) == {
        "norm.weight",
        "norm.bias",
        "norm.running_mean",
        "norm.running_var",
        "norm.num_batches_tracked",
    }


def test_loaded_with_the_weights_of_another_it_is_the_same() -> None:
    torch.manual_seed(1)
    one = made().eval()
    before = torch.get_rng_state()
    other = load(shell(made), {name: tensor.detach() for name, tensor in named(one).items()}).eval()
    assert torch.equal(torch.get_rng_state(), before)  # no weight was drawn only to be thrown away
    source, target = torch.randint(11, (2, 3, 5))
    with torch.no_grad():
        assert torch.equal(one(source, target), other(source, target))
    assert other.head.weight is other.target.table.weight is other.source.table.weight  # what is tied stays tied
    assert all(parameter.requires_grad for parameter in other.parameters())


def test_loading_copies_and_keeps_nothing_of_what_was_given() -> None:
    given = {name: torch.zeros_like(tensor) for name, tensor in named(made()).items()}
    model = load(shell(made), given)
    for tensor in given.values():
        tensor.fill_(1)
    assert all(not tensor.detach().any() for tensor in named(model).values())


def test_loaded_weights_lie_in_memory_as_fresh_ones_do() -> None:
    """As a file holds them they may lie anywhere, and products of unaligned numbers are rounded otherwise."""
    flat = torch.zeros(1 + sum(tensor.numel() for tensor in named(made()).values()))
    given, place = {}, 1
    for name, tensor in named(made()).items():
        given[name] = flat[place : place + tensor.numel()].view(tensor.shape)
        place += tensor.numel()
    assert any(tensor.data_ptr() % 64 for tensor in given.values())
    assert not any(tensor.data_ptr() % 64 for tensor in named(load(shell(made), given)).values())


@pytest.mark.parametrize("fault", ["missing", "one too many", "another shape", "another width"])
def test_weights_of_another_model_are_refused_by_name(fault: str) -> None:
    given = {name: torch.zeros_like(tensor) for name, tensor in named(made()).items()}
    last = list(given)[-1]
    if fault == "missing":
        del given[last]
    elif fault == "one too many":
        last = "extra.weight"
        given[last] = torch.zeros(1)
    elif fault == "another shape":
        given[last] = torch.zeros(1, *given[last].shape)
    else:
        given, last = {name: tensor.detach() for name, tensor in named(made(width=10)).items()}, next(iter(given))
    with pytest.raises(InputError, match=f"^{last}: .*they do not belong together$"):
        load(shell(made), given)


def test_shapes_can_be_checked_before_a_model_is_made() -> None:
    empty = shell(made)
    fit(empty, shapes(made()))
    with pytest.raises(InputError, match="do not belong together"):
        fit(empty, shapes(made(width=10)))


WITHOUT_COMPILER = """
import sys
from regard.model.build import open_recipe
from regard.model.weights import shell
from regard.recipe.recipe import recipes
for name in recipes():
    shell(open_recipe(name).model.build)
assert "torch" in sys.modules and "torch._dynamo" not in sys.modules
"""


def test_a_shell_is_made_without_the_compiler() -> None:
    """Torch imports it, for seconds, to draw normal numbers of which there are none."""
    subprocess.run([sys.executable, "-c", WITHOUT_COMPILER], check=True)
