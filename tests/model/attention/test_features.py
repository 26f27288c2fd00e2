"""Random features: what they stand for, how they are drawn, and what far-off vectors make of them."""

import pytest
import torch
from torch.testing import assert_close

from regard.model.attention import RandomMap
from regard.model.attention.features import LEAST
from regard.model.build import build, open_recipe
from regard.model.weights import load, named, shell

WIDTH = 6


def drawn(features: int = 64, seed: int = 0) -> RandomMap:
    torch.manual_seed(seed)
    return RandomMap(WIDTH, features=features)


def test_their_mean_product_is_the_exponential_of_the_score() -> None:
    x, y = torch.randn(2, 1, 1, 5, WIDTH, generator=torch.Generator().manual_seed(1)).double() * 0.7
    made = drawn(200_000).double()
    along, size = made._along(x)
    product = (along - size).exp() @ made.keys(y).mT / len(made.directions)
    assert_close(product, (x @ y.mT / WIDTH**0.5).exp(), rtol=0.03, atol=0.0)
    shares = made.queries(x) @ made.keys(y).mT
    assert_close(shares / shares.sum(-1, keepdim=True), (x @ y.mT / WIDTH**0.5).softmax(-1), rtol=0.03, atol=0.0)


def test_directions_are_orthogonal_by_the_block_and_as_long_as_normal_vectors() -> None:
    directions = drawn(4 * WIDTH + 2).directions
    assert directions.shape == (26, WIDTH)
    for block in directions.split(WIDTH):
        angles = torch.nn.functional.normalize(block, dim=1)
        assert_close(angles @ angles.T, torch.eye(len(block)), atol=1e-5, rtol=0.0)
    many = drawn(60_000).directions
    assert float(many.square().sum(1).mean()) == pytest.approx(WIDTH, rel=0.02)
    assert float(many.square().sum(1).var()) == pytest.approx(2 * WIDTH, rel=0.05)  # as of a chi-square


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e4])
def test_any_vectors_give_finite_shares_and_gradients(scale: float) -> None:
    x = (torch.randn(1, 1, 9, WIDTH) * scale).requires_grad_()
    made = drawn()
    products = made.queries(x) @ made.keys(x).mT
    assert (products.sum(-1) >= torch.tensor(LEAST).exp() / 2).all()
    (products / products.sum(-1, keepdim=True)).square().sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()


TABLE = {
    "kind": "language_model",
    "vocab_size": 11,
    "width": 12,
    "decoder": {
        "kind": "transformer",
        "layers": 2,
        "attention": {"kind": "linear", "heads": 2, "feature": {"kind": "random", "features": 9}},
    },
}


def test_layers_draw_their_own_a_seed_draws_them_again_and_weights_bring_them() -> None:
    """Whoever opens weights has the directions they were learnt with, whatever chance would have drawn there."""

    def directions(seed: int) -> list[torch.Tensor]:
        torch.manual_seed(seed)
        found = named(build({"model": TABLE}))
        return [found[f"decoder.layers.{number}.attention.feature.directions"] for number in range(2)]

    one, again, other = directions(1), directions(1), directions(2)
    assert torch.equal(one[0], again[0])
    assert torch.equal(one[1], again[1])
    assert not torch.equal(one[0], one[1])
    assert not torch.equal(one[0], other[0])
    torch.manual_seed(1)
    model = build({"model": TABLE}).eval()
    part = open_recipe({"model": TABLE}).model
    torch.manual_seed(7)
    opened = load(shell(part.build), {name: tensor.detach() for name, tensor in named(model).items()}).eval()
    tokens = torch.randint(11, (2, 30))
    assert torch.equal(opened(tokens), model(tokens))


def test_they_are_never_learnt() -> None:
    model = build({"model": TABLE})
    assert not [name for name, _ in model.named_parameters() if "directions" in name]
