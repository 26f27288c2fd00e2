"""Notes, part B: residual learning."""

import pytest
import torch
from measures import made
from torch import Tensor, nn
from torch.testing import assert_close

from regard.model.attention import NOWHERE
from regard.model.build import build
from regard.model.mask import Mask
from regard.model.norms import LayerNorm, Norm
from regard.model.residual import Post, Pre
from regard.model.vision.blocks import ResnetBlock


class Unchanged(Norm):
    """No norm at all, so that only the way around is left."""

    def forward(self, x: Tensor) -> Tensor:
        return x


def layer_of(residual: str) -> nn.Module:
    return made(
        "encoder",
        {"kind": "transformer", "layers": 1, "residual": residual, "attention": {"kind": "multihead", "heads": 2}},
        8,
    ).layers[0]


@pytest.mark.parametrize("kind", [Pre, Post])
def test_017_y_is_x_plus_f_of_x(kind: type):
    x, matrix = torch.randn(2, 3, 4), torch.randn(4, 4)
    assert_close(kind(Unchanged(), 0.0)(x, lambda y: torch.sin(y @ matrix)), x + torch.sin(x @ matrix))


def test_017_021_a_resnet_block_adds_its_input():
    block, x = ResnetBlock(3, 3, 1).eval(), torch.randn(2, 3, 6, 6)
    assert_close(block(x), torch.relu(x + block.inner(x)))
    nn.init.zeros_(block.inner[3].weight)
    assert torch.equal(block(x), torch.relu(x))


def test_021_the_convolutional_baseline_is_made_of_such_blocks():
    whole = build("resnet")
    blocks = [module for module in whole.modules() if isinstance(module, ResnetBlock)]
    layers = [module for module in whole.modules() if getattr(module, "kernel_size", None) == (3, 3)]
    assert (len(blocks), len(layers) + 1) == (9, 20)  # ResNet-20: 19 convolutions and the head
    assert whole.eval()(torch.randn(2, 3, 32, 32)).shape == (2, 10)
    for block in blocks:
        nn.init.zeros_(block.inner[3].weight)  # what lies beside the way around says nothing
    pixels = torch.randn(2, 3, 32, 32)
    x = torch.relu(whole.body.stem(pixels))
    for block in blocks:
        x = torch.relu(block.around(x))
    assert_close(whole(pixels), whole.head(x.mean((2, 3))))


def test_022_there_is_a_way_around_attention_and_around_the_mlp():
    layer, x = layer_of("pre"), torch.randn(2, 5, 8)
    middle = x + layer.attention(layer.around_attention.norm(x), None, Mask())
    assert_close(layer(x, Mask(), NOWHERE), middle + layer.mlp(layer.around_mlp.norm(middle)))


@pytest.mark.parametrize("silent", ["attention", "mlp"])
def test_022_what_one_sublayer_does_not_say_the_other_still_passes_on(silent: str):
    layer, x = layer_of("pre"), torch.randn(2, 5, 8)
    for parameter in getattr(layer, silent).parameters():
        nn.init.zeros_(parameter)
    other = layer.mlp(layer.around_mlp.norm(x)) if silent == "attention" else heard(layer, x)
    assert_close(layer(x, Mask(), NOWHERE), x + other)


def heard(layer: nn.Module, x: Tensor) -> Tensor:
    return layer.attention(layer.around_attention.norm(x), None, Mask())


def test_024_first_the_sublayer_then_the_sum_then_the_norm():
    layer, x = layer_of("post"), torch.randn(2, 5, 8)
    middle = normed(x + layer.attention(x, None, Mask()), layer.around_attention.norm)
    wanted = normed(middle + layer.mlp(middle), layer.around_mlp.norm)
    assert_close(layer(x, Mask(), NOWHERE), wanted, atol=1e-5, rtol=1e-5)


def normed(x: Tensor, norm: LayerNorm) -> Tensor:
    """LayerNorm by hand."""
    away = x - x.mean(-1, keepdim=True)
    return away / (away.square().mean(-1, keepdim=True) + norm.eps).sqrt() * norm.weight + norm.bias
