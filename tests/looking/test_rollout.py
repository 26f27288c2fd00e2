"""Rollout: the product over layers of half the identity and half the mean of the heads."""

import pytest
import torch
from seen_models import read, translated


@pytest.mark.parametrize("kind", ["encoder", "masked"])
def test_it_is_the_product_of_all_layers(kind: str) -> None:
    look = translated("transformer")
    product = torch.eye(len(look.scene.lines[look.of(kind)[0].rows]))
    for layer in look.of(kind):
        mean = look.panel(str(layer)).table(words=False)
        product = 0.5 * (torch.eye(len(mean)) + mean) @ product
    found = look.panel(f"rollout.{kind}").table(words=False)
    torch.testing.assert_close(found, product)
    torch.testing.assert_close(found.sum(1), torch.ones(len(found)))
    torch.testing.assert_close(look.panel(f"rollout.{kind}").table(False, 2, 5), product[2:5])


def test_without_a_way_around_nothing_goes_around() -> None:
    look = read("the fox", residual="none")
    first, second = (look.panel(f"masked.{number}").table(words=False) for number in range(2))
    torch.testing.assert_close(look.panel("rollout").table(words=False), second @ first)


def test_no_more_than_a_block_of_a_layer_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read("the fox jumps").panel("rollout").table(words=False)
    monkeypatch.setattr("regard.looking.layers.MEMORY", 600)
    look = read("the fox jumps")
    sizes = []
    rows = type(look).rows
    monkeypatch.setattr(
        type(look),
        "rows",
        lambda self, layer, start, stop, head=None: sizes.append(stop - start) or rows(self, layer, start, stop, head),
    )
    torch.testing.assert_close(look.panel("rollout").table(words=False), whole)
    assert max(sizes) <= 3
