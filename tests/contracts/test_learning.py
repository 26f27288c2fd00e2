"""Every entry of every slot stands in a whole model that learns, and none of its parameters is dead."""

from collections.abc import Iterator
from typing import Any

import torch

from regard.model.menu import MENU
from regard.recipe import Part

from .small import Case, answerers, bodies, decoders, encoders, every, models, order, shallow, unchecked
from .trained import loss


def _idle(norm: str) -> set[str]:
    return {f"{norm.format(layer)}.{name}" for layer in range(2) for name in ("weight", "bias")}


ALONE = [case for case in decoders() if str(case).count("-") == 1]
CASES = [*models(), *bodies(), *encoders(), *answerers(), *ALONE]

# Not mistakes, but nothing comes of them: a mean asks nothing, so the norm before its queries is idle;
# a recurrent network that is read at the first position has no step behind it.
DEAD = {
    "answerer-convolution-attention.none": _idle("decoder.around_attention.{}.norm"),
    "answerer-transformer-cross.none": _idle("decoder.layers.{}.around_cross.norm"),
    "body-patches-encoder.recurrent": {"body.encoder.layers.1.0.weight_hh"},
}


def parts(part: Part[Any]) -> Iterator[tuple[str, str]]:
    """The slot and kind of everything in a recipe."""
    yield next(slot.name for slot in MENU if issubclass(part.entry, slot.abstract)), part.kind
    for name in type(part).slots:
        yield from parts(getattr(part, name))


def test_every_entry_of_the_menu_is_in_a_model_that_learns() -> None:
    legal = [case for case in CASES if case.refusal() is None]
    assert {found for case in legal for found in parts(order(case.table))} == {
        (slot.name, kind) for slot in MENU for kind in slot.entries
    }


@every(CASES)
def test_every_parameter_gets_a_gradient(case: Case) -> None:
    model = case.build().train()
    loss(model).backward()
    dead = [name for name, each in model.named_parameters() if each.grad is None or not each.grad.any()]
    assert set(dead) == DEAD.get(str(case), set())
    assert all(each.grad.isfinite().all() for each in model.parameters() if each.grad is not None)


@every(CASES)
def test_twenty_steps_lower_the_loss(case: Case) -> None:
    torch.manual_seed(0)
    with unchecked():
        model = order(shallow(case.table)).build().train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, fused=True)
        losses = []
        for _ in range(20):
            optimizer.zero_grad()
            cost = loss(model)
            cost.backward()
            optimizer.step()
            losses.append(float(cost.detach()))
    assert losses[-1] < 0.8 * losses[0]
