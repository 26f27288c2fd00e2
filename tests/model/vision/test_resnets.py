"""Residual networks: blocks, stems, and norms folded away."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from regard.model.build import build
from regard.model.vision.blocks import PreactivationBlock
from regard.model.vision.fold import folded
from regard.recipe import RecipeError


def resnet(size: int | list[int] = 8, **body: Any) -> nn.Module:
    torch.manual_seed(0)
    options = {"kind": "resnet", "width": 4, "blocks": 1, "stages": 2} | body
    return build({"model": {"kind": "image_classifier", "channels": 2, "size": size, "body": options}})


def used(model: nn.Module, *shape: int) -> nn.Module:
    """With statistics of some batches, and norms that do something."""
    for part in model.modules():
        if isinstance(part, nn.BatchNorm2d):
            nn.init.normal_(part.weight)
            nn.init.normal_(part.bias)
    for _ in range(3):
        model.train()(2 * torch.randn(5, 2, *shape) + 1)
    return model.eval()


def test_norm_and_relu_stand_before_each_convolution() -> None:
    """Pre-activation by hand: the way around is free, and where sizes change it starts behind the first ReLU."""
    block, x = PreactivationBlock(3, 5, 2).train(), torch.randn(4, 3, 6, 6)
    norm, _ = block.first
    one, second, _, two = block.inner
    inside = F.relu(F.batch_norm(x, None, None, norm.weight, norm.bias, True))
    middle = F.conv2d(inside, one.weight, stride=2, padding=1)
    middle = F.relu(F.batch_norm(middle, None, None, second.weight, second.bias, True))
    wanted = F.conv2d(inside, block.around.weight, stride=2) + F.conv2d(middle, two.weight, padding=1)
    torch.testing.assert_close(block(x), wanted)
    same = PreactivationBlock(3, 3, 1).train()
    nn.init.zeros_(same.inner[-1].weight)
    assert torch.equal(same(x), x)


@pytest.mark.parametrize("block", ["basic", "bottleneck"])
@pytest.mark.parametrize("activation", ["post", "pre"])
@pytest.mark.parametrize("stem", ["small", "large"])
def test_folded_it_says_the_same(block: str, activation: str, stem: str) -> None:
    model = used(resnet([17, 12], block=block, activation=activation, stem=stem), 17, 12)
    pixels = torch.randn(3, 2, 17, 12)
    before, norms = model(pixels), _norms(model)
    made = folded(model)
    torch.testing.assert_close(made(pixels), before, rtol=1e-4, atol=1e-5)
    assert _norms(made) == (0 if activation == "post" else 3)  # those with no convolution before them
    assert _norms(model) == norms > _norms(made)
    assert torch.equal(model(pixels), before)
    assert made.head is model.head


def test_folded_while_it_learns_it_goes_on_learning() -> None:
    model = used(resnet(16), 16, 16).train()
    model.body.stem.eval()
    made, pixels = folded(model), torch.randn(3, 2, 16, 16)
    assert [part.training for part in (model, model.body, model.body.stem)] == [True, True, False]
    torch.testing.assert_close(made.eval()(pixels), model.eval()(pixels), rtol=1e-4, atol=1e-5)


def _norms(model: nn.Module) -> int:
    return sum(isinstance(part, nn.BatchNorm2d) for part in model.modules())


@pytest.mark.parametrize(("stem", "side"), [("small", 16), ("large", 4)])
def test_stems_leave_all_or_a_quarter_of_each_side(stem: str, side: int) -> None:
    assert resnet(16, stem=stem).body.stem(torch.zeros(1, 2, 16, 16)).shape == (1, 4, side, side)


def test_the_large_ones_are_those_of_the_paper() -> None:
    sizes = {"stages": 4, "width": 64, "stem": "large"}
    for blocks, block, wanted in (([2] * 4, "basic", 11_689_512), ([3, 4, 6, 3], "bottleneck", 25_557_032)):
        body = {"kind": "resnet", "blocks": blocks, "block": block, **sizes}
        with torch.device("meta"):
            model = build({"model": {"kind": "image_classifier", "classes": 1000, "body": body}})
        assert sum(each.numel() for each in model.parameters()) == wanted


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"blocks": [1, 2, 3]}, "blocks: 3 numbers do not fit stages = 2"),
        ({"blocks": [1, 0]}, r"model\.body\.blocks: wanted a whole number ≥ 1 or a list of whole numbers ≥ 1, given "),
        ({"stages": 5}, "stages: images of 8 cannot be halved 4 times"),
        ({"stem": "large", "stages": 3}, "stages: images of 8 cannot be halved 4 times"),
    ],
)
def test_what_cannot_be_is_said(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        resnet(**options)


def test_how_pixels_lie_in_memory_changes_nothing() -> None:
    """Convolutions never see channels side by side: torch writes outside of its memory on the way back then."""
    model, pixels = resnet([9, 7]).eval(), torch.randn(2, 2, 9, 7)
    plain, seen = model(pixels), list[bool]()
    for part in model.modules():
        if isinstance(part, torch.nn.Conv2d):
            part.register_forward_pre_hook(lambda _, given: seen.append(given[0].is_contiguous()))
    assert torch.equal(plain, model(pixels.contiguous(memory_format=torch.channels_last)))
    assert seen
    assert all(seen)
