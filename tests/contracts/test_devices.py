"""Every recipe on a device that is not the CPU: a tensor made in the wrong place is an error here, not on a GPU.

The meta device has shapes and types and no numbers; it refuses most mixtures with tensors of the CPU. What autocast
does to types is tried on the CPU, on every mechanism: test_precision.
"""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.model.assembly import LanguageModel, Seq2Seq
from regard.model.mechanism import auxiliary_loss
from regard.model.menu import MENU
from regard.model.recurrent.cells import Cell
from regard.model.weights import shell
from regard.recipe import Recipe, recipes

from .small import Case, answerers, bodies, decoders, encoders, every, models, order, unchecked

META = torch.device("meta")
LONG, SHORT = 20, 8  # tokens; torch takes a recurrent layer apart there, a hundred operations for each


def inputs(model: Any, length: int) -> list[Tensor]:
    return [torch.zeros(each.shape, dtype=each.dtype, device=META) for each in model.example(2, length)]


def stays_on_meta(model: Any, length: int) -> None:
    """Forward, a loss and its gradients; steps of writing after a prompt."""
    given = inputs(model.train(), length)
    logits = model(*given)
    assert logits.device == META
    extra = auxiliary_loss(model)
    (logits.float().logsumexp(-1).sum() + (0.0 if extra is None else extra)).backward()
    assert {each.grad.device for each in model.parameters() if each.grad is not None} == {META}
    model.eval()
    if isinstance(model, LanguageModel | Seq2Seq):
        with torch.no_grad():
            memory = model.start(given[0]) if isinstance(model, Seq2Seq) else model.start(rows=2)
            for steps in (5, 1, 1):
                states = model.step(given[-1][:, :steps], memory)
            assert model.head(states).device == META
            assert all(tensor.device == META for entry in memory.layers for tensor in entry.tensors())


@pytest.mark.parametrize("name", recipes())
def test_every_recipe_stays_on_its_device(name: str) -> None:
    with unchecked():
        stays_on_meta(shell(Recipe.resolve(name, MENU).model.build), 40)


@every([*models(), *bodies(), *encoders(), *decoders(), *answerers()])
def test_every_mechanism_stays_on_its_device(case: Case) -> None:
    with unchecked():
        model = shell(order(case.table).build)
        stays_on_meta(model, SHORT if any(isinstance(part, Cell) for part in model.modules()) else LONG)
