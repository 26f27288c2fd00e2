"""Image models of `transformers` at odd sizes and patches: the same logits and gradients from the same weights."""

from typing import Any

import pytest
import torch
from copying import Tensors, copy, from_deit, from_resnet, from_taught_deit, from_vit
from test_transformers import TOLERANCE, agree, shaken, trained
from torch import nn
from transformers import (
    DeiTConfig,
    DeiTForImageClassification,
    DeiTForImageClassificationWithTeacher,
    ResNetConfig,
    ResNetForImageClassification,
    ViTConfig,
    ViTForImageClassification,
)

from regard.model.build import build
from regard.model.weights import shell, stretched

WIDTH, HEADS, HIDDEN, LAYERS, CLASSES = 20, 4, 17, 3, 7
SHAPES = [([12, 30], [4, 6]), ([21, 7], [7, 7]), ([5, 9], [1, 3])]


def sizes(shape: list[int], patch: list[int]) -> dict[str, Any]:
    return {
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": HIDDEN,
        "image_size": shape,
        "patch_size": patch,
        "num_channels": 2,
        "num_labels": CLASSES,
        "layer_norm_eps": 1e-12,
    }


def recipe(shape: list[int], patch: list[int], **body: Any) -> dict[str, Any]:
    encoder = {
        "kind": "transformer",
        "layers": LAYERS,
        "attention": {"kind": "multihead", "heads": HEADS},
        "positions": "learned",
        "norm": {"kind": "layer", "eps": 1e-12},
        "mlp": {"kind": "gelu", "hidden": HIDDEN},
    }
    whole = {"kind": "patches", "width": WIDTH, "patch": patch, "encoder": encoder} | body
    return {"model": {"kind": "image_classifier", "classes": CLASSES, "channels": 2, "size": shape, "body": whole}}


@pytest.mark.parametrize(("shape", "patch"), SHAPES)
def test_vit_equals_transformers_at_any_shape(shape: list[int], patch: list[int]) -> None:
    theirs, ours = shaken(ViTForImageClassification, ViTConfig(**sizes(shape, patch))), build(recipe(shape, patch))
    copy(from_vit(trained(theirs)), ours)
    pixels = torch.randn(3, 2, *shape)
    agree(ours, theirs, (ours(pixels), theirs(pixels).logits), from_vit)


@pytest.mark.parametrize(("shape", "patch"), SHAPES)
def test_deit_equals_transformers(shape: list[int], patch: list[int]) -> None:
    theirs = shaken(DeiTForImageClassification, DeiTConfig(**sizes(shape, patch)))
    ours = build(recipe(shape, patch, registers=1))
    copy(from_deit(trained(theirs)), ours)
    pixels = torch.randn(3, 2, *shape)
    agree(ours, theirs, (ours(pixels), theirs(pixels).logits), from_deit)


def test_deit_with_a_teacher_equals_transformers() -> None:
    shape, patch = SHAPES[0]
    theirs = shaken(DeiTForImageClassificationWithTeacher, DeiTConfig(**sizes(shape, patch)))
    ours = build(recipe(shape, patch, pooling="distilled"))
    copy(from_taught_deit(trained(theirs)), ours)
    pixels = torch.randn(3, 2, *shape)

    def gradients(given: Tensors) -> Tensors:
        return from_taught_deit(given, weight=2.0, bias=1.0)

    agree(ours, theirs, (ours(pixels), theirs(pixels).logits), gradients)


@pytest.mark.parametrize("shape", [[20, 16], [4, 12], [12, 12], [40, 8]])
def test_positions_for_another_size_are_those_of_transformers(shape: list[int]) -> None:
    theirs = shaken(ViTForImageClassification, ViTConfig(**sizes([12, 12], [4, 4]) | {"patch_size": 4})).eval()
    former = shell(lambda: build(recipe([12, 12], [4, 4])))
    ours = build(recipe(shape, [4, 4])).eval()
    copy(stretched(from_vit(trained(theirs)), former, ours), ours)
    pixels = torch.randn(2, 2, *shape)
    wanted = theirs(pixels, interpolate_pos_encoding=True).logits
    torch.testing.assert_close(ours(pixels), wanted, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("kind", ["basic", "bottleneck"])
@pytest.mark.parametrize(("shape", "depths"), [((33, 50), [1, 2, 1]), ((17, 16), [2, 1])])
def test_resnet_equals_transformers(kind: str, shape: tuple[int, int], depths: list[int]) -> None:
    """Learning, with the statistics of the batch, and afterwards in use, with those that were kept."""
    first = 5 if kind == "basic" else 20
    hidden = [first * 2**stage for stage in range(len(depths))]
    config = ResNetConfig(
        num_channels=2, embedding_size=5, hidden_sizes=hidden, depths=depths, layer_type=kind, num_labels=CLASSES
    )
    theirs = shaken(ResNetForImageClassification, config)
    body = {"kind": "resnet", "width": 5, "stages": len(depths), "blocks": depths, "block": kind, "stem": "large"}
    model = {"kind": "image_classifier", "classes": CLASSES, "channels": 2, "size": list(shape), "body": body}
    ours = build({"model": model}).train()

    def translate(given: Tensors) -> Tensors:
        return from_resnet(given, depths)

    copy(translate(trained(theirs)), ours)
    pixels = torch.randn(4, 2, *shape)
    agree(ours, theirs, (ours(pixels), theirs(pixels).logits), translate)
    for model in (ours, theirs):
        model.eval()
    same_statistics(ours, theirs, depths)
    torch.testing.assert_close(ours(pixels), theirs(pixels).logits, rtol=TOLERANCE, atol=TOLERANCE)


def same_statistics(ours: nn.Module, theirs: nn.Module, depths: list[int]) -> None:
    wanted, found = from_resnet(dict(theirs.named_buffers()), depths), dict(ours.named_buffers())
    assert wanted.keys() == found.keys()
    for name in wanted:
        torch.testing.assert_close(found[name], wanted[name], rtol=TOLERANCE, atol=TOLERANCE)
