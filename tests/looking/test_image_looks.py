"""Where a classifier looks: the weights of attention and their rollout, or gradients where there are none."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.looking.images import Look, draw_looks, looked
from regard.model.assembly import ImageClassifier
from regard.model.build import build
from regard.model.watch import watch

HEADS = {"kind": "multihead", "heads": 2}


def model(**body: Any) -> ImageClassifier:
    torch.manual_seed(1)
    kind = {"kind": "image_classifier", "classes": 3, "channels": 1, "size": [8, 12], "body": body}
    made = build({"model": kind}).eval()
    assert isinstance(made, ImageClassifier)
    for parameter in made.parameters():  # so that weights are far from even
        torch.nn.init.normal_(parameter, std=0.5)
    return made


def vit(**more: Any) -> ImageClassifier:
    encoder = {"kind": "transformer", "layers": 3, "attention": HEADS, "positions": "learned"}
    return model(**{"kind": "patches", "patch": 4, "width": 8, "encoder": encoder} | more)


def pixels() -> torch.Tensor:
    return torch.randn(1, 1, 8, 12, generator=torch.Generator().manual_seed(2))


IMAGE = np.zeros((8, 12, 1), np.uint8)


def rolled(made: ImageClassifier) -> tuple[torch.Tensor, torch.Tensor]:
    """The last layer, and the product of all: whole matrices, as the paper has them."""
    with torch.inference_mode(), watch(made) as seen:
        made(pixels())
    weights = [sight.weights[0].mean(0) for sight in seen.values()]
    one = torch.eye(len(weights[0]))
    through = one
    for each in weights:
        through = (each + one) / 2 @ through
    return weights[-1], through


def on_patches(row: torch.Tensor, extra: int) -> torch.Tensor:
    return (row[extra:] / row[extra:].sum()).view(2, 3)


@pytest.mark.parametrize("registers", [0, 2])
def test_cls_is_followed_through_all_layers(registers: int) -> None:
    made = vit(registers=registers)
    look = looked(made, pixels(), IMAGE)
    last, through = rolled(made)
    first, second = look.maps.values()
    torch.testing.assert_close(torch.tensor(first), on_patches(last[0], 1 + registers))
    torch.testing.assert_close(torch.tensor(second), on_patches(through[0], 1 + registers))
    assert list(look.maps) == ["attention of [CLS], last layer", "attention rollout, all layers"]
    assert look.main == second
    assert float(np.sum(second)) == pytest.approx(1)
    assert np.ptp(second) > 0.01


@pytest.mark.parametrize("registers", [0, 2])
def test_the_mean_looks_from_every_patch_and_from_no_register(registers: int) -> None:
    made = vit(pooling="mean", registers=registers)
    look = looked(made, pixels(), IMAGE)
    last, through = rolled(made)
    for found, whole in zip(look.maps.values(), (last, through), strict=True):
        torch.testing.assert_close(torch.tensor(found), on_patches(whole[registers:].mean(0), registers))
    assert "all patches, their mean" in next(iter(look.maps))


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "resnet", "width": 4, "blocks": 1, "stages": 2},
        {"kind": "patches", "patch": 4, "width": 8, "pooling": "mean", "encoder": {"kind": "recurrent"}},
        {"kind": "patches", "patch": 4, "width": 8, "pooling": "mean", "encoder": {"kind": "convolution", "layers": 1}},
    ],
    ids=["resnet", "recurrent", "convolution"],
)
def test_without_attention_gradients_are_shown_and_that_is_said(body: dict[str, Any]) -> None:
    look = looked(model(**body), pixels(), IMAGE)
    assert list(look.maps) == ["influence, by gradients"]
    assert "no attention" in look.about
    assert np.shape(look.main) == (8, 12)
    assert float(np.sum(look.main)) == pytest.approx(1, abs=1e-4)
    assert np.array_equal(looked(model(**body), pixels(), IMAGE).main, look.main)  # no chance in it


def test_gradients_point_at_the_pixels_that_decide() -> None:
    """A model that sees nothing but one corner."""

    class Corner(torch.nn.Module):
        out_width = 4

        def forward(self, given: torch.Tensor) -> torch.Tensor:
            return given[:, 0, :2, :2].flatten(1)

    made = model(kind="resnet", width=4, blocks=1, stages=1)
    made.body = Corner()  # type: ignore[assignment]
    made.head = torch.nn.Linear(4, 3)
    found = np.array(looked(made, pixels(), IMAGE).main)
    assert found[:3, :3].sum() == pytest.approx(1, abs=1e-4)
    assert found[4:, 4:].sum() == 0


def test_gradients_of_either_sign_count_alike() -> None:
    """A model whose slope has another sign wherever noise has one: the mean of slopes would be next to nothing."""

    class Steep(torch.nn.Module):
        out_width = 1

        def forward(self, given: torch.Tensor) -> torch.Tensor:
            return torch.stack([given[:, 0, 2, 2].abs(), given[:, 0, 6, 9]], 1)

    made = model(kind="resnet", width=4, blocks=1, stages=1)
    made.body = Steep()  # type: ignore[assignment]
    made.head = torch.nn.Linear(2, 3)
    with torch.no_grad():
        made.head.weight.copy_(torch.tensor([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]))
    found = np.array(looked(made, torch.zeros(1, 1, 8, 12), IMAGE).main)
    assert found[1:4, 1:4].sum() == pytest.approx(0.5, abs=0.02)


def test_no_gradient_is_left_behind() -> None:
    made = model(kind="resnet", width=4, blocks=1, stages=1)
    looked(made, pixels(), IMAGE)
    assert all(parameter.grad is None for parameter in made.parameters())


def test_it_is_drawn_over_the_image_and_in_letters(tmp_path: Path) -> None:
    image = np.full((8, 12, 3), 90, np.uint8)
    look = Look(image, {"one": [[0.0, 1.0]], "two": [[0.5, 0.5], [0.0, 0.0]]}, "how $it$ was")
    assert look.draw(tmp_path / "look.png", "a $title$").read_bytes()[:4] == b"\x89PNG"
    assert draw_looks({"a": look, "b": look}, tmp_path / "two.svg").read_text().startswith("<?xml")
    lines = str(look).splitlines()
    assert len(lines) == 8
    assert lines[0].endswith("█" * 24)
    assert lines[7].endswith(" " * 24)
