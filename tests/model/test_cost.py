"""What a model costs, found with numbers or without."""

import pytest
import torch

from regard.model.assembly import Assembly
from regard.model.build import build
from regard.model.cost import imagined
from regard.model.describe import _cost, describe

RECURRENT = {"kind": "recurrent", "layers": 2}


def made(kind: str, **parts: object) -> Assembly:
    sizes = {"source_vocab_size": 11, "target_vocab_size": 11} if kind == "seq2seq" else {"vocab_size": 11}
    found = build({"name": "small", "model": {"kind": kind, "width": 8, **sizes, **parts}})
    assert isinstance(found, Assembly)
    return found


@pytest.mark.parametrize("cell", ["elman", "gru", "lstm"])
@pytest.mark.parametrize("attention", ["none", "additive", "general"])
def test_every_further_row_costs_alike(cell: str, attention: str) -> None:
    decoder = RECURRENT | {"cell": cell, "attention": {"kind": attention}}
    model = made("seq2seq", width=64, encoder=RECURRENT | {"cell": cell}, decoder=decoder)
    two, four, many = (_cost(model, rows, 7) for rows in (2, 4, 9))
    found = two.extended(four, 9)
    assert found.flops == many.flops
    assert found.activations == pytest.approx(many.activations, rel=0.05 if cell == "lstm" else 0)  # it keeps pages
    assert 0 < two.activations < many.activations


def test_to_describe_draws_nothing() -> None:
    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    describe("numbers-gru", length=4, batch=2)
    assert torch.equal(torch.rand(2), wanted)


def test_imagined_and_real_models_cost_the_same() -> None:
    with imagined():
        fake = _cost(made("language_model"), 3, 9)
    real = _cost(made("language_model"), 3, 9)
    assert (fake.flops, fake.activations) == (real.flops, real.activations)
