"""Layers left out by chance, and what each adds multiplied by a learned number."""

from typing import Any

import pytest
import torch
from torch import nn

from regard.model.build import build
from regard.model.dropout import dropped_rows
from regard.model.residual import Residual
from regard.model.vision.blocks import PreactivationBlock, ResnetBlock
from regard.recipe import RecipeError


def vit(layers: int = 4, **encoder: Any) -> nn.Module:
    torch.manual_seed(0)
    stack = {"kind": "transformer", "layers": layers, "attention": {"kind": "multihead", "heads": 2}} | encoder
    body = {"kind": "patches", "width": 8, "patch": 4, "encoder": stack}
    return build({"model": {"kind": "image_classifier", "size": 8, "body": body}})


def resnet(**options: Any) -> nn.Module:
    torch.manual_seed(0)
    body = {"kind": "resnet", "width": 4, "blocks": 2, "stages": 2} | options
    return build({"model": {"kind": "image_classifier", "size": 8, "body": body}})


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_whole_rows_go_and_the_mean_stays(share: float) -> None:
    torch.manual_seed(1)
    found = dropped_rows(torch.ones(20_000, 2, 3), share, True)
    rows = found.flatten(1)
    assert (rows == rows[:, :1]).all()
    spread = (share * (1 - share) / 20_000) ** 0.5
    assert float((rows[:, 0] == 0).float().mean()) == pytest.approx(share, abs=4 * spread)
    assert rows[rows != 0].unique().tolist() == pytest.approx([1 / (1 - share)])


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16, torch.float16])
def test_the_same_rows_go_in_every_type_of_number(kind: torch.dtype) -> None:
    gone = []
    for each in (torch.float32, kind):
        torch.manual_seed(3)
        gone.append(dropped_rows(torch.ones(50, 4, dtype=each), 0.4, True) == 0)
    assert torch.equal(*gone)


def test_nothing_goes_without_training_or_share() -> None:
    x = torch.randn(3, 2)
    assert dropped_rows(x, 0.5, False) is x
    assert dropped_rows(x, 0.0, True) is x


def test_the_deeper_the_likelier() -> None:
    stack = vit(stochastic_depth=0.4).body.encoder
    shares = [part.skipped for part in stack.modules() if isinstance(part, Residual)]
    assert shares == pytest.approx([0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.4, 0.4])
    blocks = resnet(stochastic_depth=0.4).body.blocks
    assert [block.skipped for block in blocks] == pytest.approx([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("make", [vit, resnet])
def test_chances_are_those_of_the_seed_and_of_training_alone(make: Any) -> None:
    model, plain, pixels = make(stochastic_depth=0.5), make(), torch.randn(16, 3, 8, 8)
    model.load_state_dict(plain.state_dict())
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(model.train()(pixels))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    for each in (model, plain):
        each.load_state_dict(make().state_dict())
        each.eval()
    assert torch.equal(model(pixels), plain(pixels))


@pytest.mark.parametrize("residual", ["pre", "post"])
def test_a_layer_that_is_left_out_leaves_a_row_as_it_was(residual: str) -> None:
    """All sub-layers of one layer at a chance next to certainty."""
    model = vit(1, stochastic_depth=1 - 1e-9, residual=residual).train()
    (layer,) = model.body.encoder.layers
    x = torch.randn(2, 5, 8)
    found = layer.around_mlp(x, layer.mlp)
    torch.testing.assert_close(found, x if residual == "pre" else layer.around_mlp.norm(x))


@pytest.mark.parametrize("block", [ResnetBlock, PreactivationBlock])
def test_a_block_that_is_left_out_is_the_way_around(block: Any) -> None:
    x = torch.randn(3, 4, 5, 5)
    found = block(4, 4, 1, "basic", 1 - 1e-9).train()(x)
    torch.testing.assert_close(found, x if block is PreactivationBlock else x.relu())


def test_without_a_way_around_nothing_can_be_left_out() -> None:
    with pytest.raises(RecipeError, match="stochastic_depth: without a way around"):
        vit(residual="none", stochastic_depth=0.1)


def test_scaled_layers_are_those_whose_last_weights_are_scaled() -> None:
    """So that other makers' models with layer scale can be taken in without it, for use."""
    model, plain = vit(layer_scale=0.1).eval(), vit().eval()
    weights = model.state_dict()
    with torch.no_grad():
        for layer in model.body.encoder.layers:
            for around in (layer.around_attention, layer.around_mlp):
                assert torch.equal(around.scale, torch.full((8,), 0.1))
                around.scale.copy_(torch.rand(8))
    plain.load_state_dict({name: each for name, each in weights.items() if not name.endswith(".scale")})
    with torch.no_grad():
        for number, layer in enumerate(plain.body.encoder.layers):
            scaled = model.body.encoder.layers[number]
            for linear, around in (
                (layer.attention.output, scaled.around_attention),
                (layer.mlp.down, scaled.around_mlp),
            ):
                linear.weight.mul_(around.scale[:, None])
                linear.bias.mul_(around.scale)
    pixels = torch.randn(2, 3, 8, 8)
    torch.testing.assert_close(model(pixels), plain(pixels))
