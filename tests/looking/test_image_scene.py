"""Looking into classifiers: the same weights, numbers and files as of any other run, laid over the image."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from seen_models import HEADS, classified, classifier, given, picture

from regard.errors import InputError
from regard.looking.cells import Cells
from regard.looking.images import looked
from regard.looking.look import Look, gather
from regard.looking.overlay import grid, of_image
from regard.looking.roles import Tally, role
from regard.looking.seen_image import patch_line
from regard.model.transformer import TransformerEncoder
from regard.model.watch import watch
from regard.tasks.classification.scene import classification_scene

ENCODER = {"kind": "transformer", "layers": 2, "attention": HEADS, "positions": "learned"}
LINEAR = ENCODER | {"attention": {"kind": "linear", "heads": 2}}
NEAR = ENCODER | {"pattern": {"kind": "window", "width": 2}}
BODIES: dict[str, tuple[dict[str, Any], int]] = {
    "cls": ({}, 1),
    "mean": ({"pooling": "mean"}, 0),
    "distilled": ({"pooling": "distilled", "registers": 2}, 4),
    "linear": ({"encoder": LINEAR}, 1),
    "window": ({"encoder": NEAR, "pooling": "mean"}, 0),
    "stem": ({"stem": "convolution"}, 1),
}
NO_ATTENTION = {
    "resnet": {"kind": "resnet", "width": 4, "blocks": 1, "stages": 2},
    "recurrent": {"pooling": "mean", "encoder": {"kind": "recurrent"}},
    "convolution": {"pooling": "mean", "encoder": {"kind": "convolution", "layers": 1}},
}


@pytest.mark.parametrize("name", BODIES)
def test_every_patch_of_every_layer_looks_and_rows_sum_to_one(name: str) -> None:
    body, extra = BODIES[name]
    look = classified(**body)
    assert look.kinds == ("encoder",)
    assert len(look.scene.lines["source"]) == 6 + extra
    assert look.difference < 1e-4
    assert look.mismatch < 1e-4
    for layer in range(2):
        weights = look.weights("encoder", layer, 1)
        assert weights.shape == (6 + extra, 6 + extra)  # of the last layer too, of which only [CLS] is read
        torch.testing.assert_close(weights.sum(1), torch.ones(6 + extra))
    assert float(look.influence.shares("source", 0, 1).sum()) == pytest.approx(1)
    assert not look.influence.shares("source", 0, 1)[:, :extra].any()  # these are no input


def test_what_is_spared_is_spared_again() -> None:
    look = classified()
    encoder = look.scene.model.body.encoder
    assert isinstance(encoder, TransformerEncoder)
    assert encoder.read == 1
    with torch.no_grad(), watch(look.scene.model) as seen:
        look.scene.run(look.scene.pieces[0])
    (_, last) = seen.values()
    torch.testing.assert_close(last.weights[0, 1, 0], look.weights("encoder", 1, 1)[0])


@pytest.mark.parametrize("name", ["cls", "mean"])
def test_rollout_is_what_classify_draws(name: str) -> None:
    made = classifier(**BODIES[name][0])
    look = gather(classification_scene(made, picture()))
    wanted = looked(made.model, look.scene.pieces[0].inputs[0], np.zeros((8, 12, 1), np.uint8)).main
    found = torch.tensor(grid(look, look.panel(look.usual)))
    torch.testing.assert_close(found / found.sum(), torch.tensor(wanted))
    weights, (start, stop) = look.weights("encoder", 0, 1), look.scene.image.stands
    torch.testing.assert_close(of_image(look, look.panel("encoder.0.1")), weights[start:stop].mean(0))
    one = of_image(look, look.panel("encoder.0.1"), "3:4")
    torch.testing.assert_close(one, look.weights("encoder", 0, 1)[3])


@pytest.mark.parametrize("name", NO_ATTENTION)
def test_without_attention_influence_is_what_is_shown(name: str, tmp_path: Path) -> None:
    look = classified(**NO_ATTENTION[name])
    assert (look.kinds, look.usual) == ((), "influence.source")
    assert float(look.panel("influence").table().sum()) == pytest.approx(1)
    assert look.save(tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert any(shade in str(look) for shade in "░▒▓█")


def test_cells_are_the_image_and_only_what_is_seen_counts() -> None:
    odd = torch.randn(2, 3, 33, 47)
    cells = Cells(33, 47)
    assert torch.equal(cells.joined(cells(odd)), odd)

    class Corner(torch.nn.Module):
        def forward(self, pixels: torch.Tensor) -> torch.Tensor:
            return pixels[:, 0, :2, :4].flatten(1)

    made = classifier(**NO_ATTENTION["resnet"])
    made.model.body, made.model.head = Corner(), torch.nn.Linear(8, 3)  # type: ignore[assignment]
    look = gather(classification_scene(made, picture()))
    counted = torch.tensor(grid(look, look.panel("influence")))
    assert counted.shape == (8, 12)
    assert float(counted[:2, :4].sum()) == pytest.approx(1)
    signed = look.influence.signed("source", 0, 1)[0]
    pixels = look.scene.pieces[0].inputs[0][0, 0]
    said = int(look.scene.pieces[0].outputs[0])
    logits = made.model.head(pixels[:2, :4].flatten())
    slope = (torch.eye(3)[said] - logits.softmax(0)) @ made.model.head.weight  # of log p, by hand
    torch.testing.assert_close(signed.view(8, 12)[:2, :4].flatten(), slope * pixels[:2, :4].flatten())


def test_another_class_can_be_asked_for() -> None:
    made = classifier()
    other = classification_scene(made, picture(), "cat")
    assert (classified().scene.written, other.written, other.lines["outputs"].words) == ("owl", "cat", ("cat",))
    first, second = (gather(scene).influence.signed("source", 0, 1) for scene in (classified().scene, other))
    assert not torch.allclose(first, second)
    with pytest.raises(InputError, match="cow: no class of this run; there are cat, dog, owl"):
        classification_scene(made, picture(), "cow")


def test_heads_are_switched_off() -> None:
    look = classified()
    gone = look.without("encoder.0", "encoder.1")
    assert gone.tokens == 1
    assert gone.loss[1] != gone.loss[0]
    assert gone.answer in ("cat", "dog", "owl")


def test_a_picture_says_how_much_weight_is_on_no_patch(tmp_path: Path) -> None:
    look = classified()
    text = look.save(tmp_path / "x.svg", "encoder.1.0").read_text()
    share = float(look.weights("encoder", 1, 0)[0, 0])
    assert f"from [CLS], {100 * share:.0f} % on no patch" in text
    assert abs(share - 0.5) > 0.01  # so that the other share would be seen


def test_files_hold_every_number(tmp_path: Path) -> None:
    look = classified()
    for name in ("x.png", "x.svg", "x.pdf", "x.html"):
        assert look.save(tmp_path / name).stat().st_size > 1000
    assert look.save(tmp_path / "row.png", "encoder.1.0", rows="2:3").stat().st_size > 1000
    with open(look.save(tmp_path / "x.csv", "encoder.1.0"), encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head[5:] == ["[CLS]", *(f"r{row}c{column}" for row in (0, 1) for column in (0, 1, 2))]
    found = torch.tensor([[float(cell) for cell in row[5:]] for row in rows])
    assert torch.equal(found, look.weights("encoder", 1, 0))
    facts = json.loads(look.save(tmp_path / "x.json", "rollout").read_text())
    assert facts["image"] == {
        "height": 8,
        "width": 12,
        "channels": 1,
        "rows": 2,
        "columns": 3,
        "stands": [0, 1],
        "who": "[CLS]",
        "dark": True,
    }
    likeliest = float(_chances(look).max())
    assert np.exp(facts["log_probs"][0]) == pytest.approx(likeliest)


def test_a_picture_of_all_heads_says_how_much_each_looks_at_the_image(tmp_path: Path) -> None:
    """Each is as bright as its own largest weight, so this is not to be seen."""
    look = classified()
    drawn = look.save(tmp_path / "heads.svg", "heads").read_text("utf-8")
    for layer in range(2):
        for head in range(2):
            weights = of_image(look, look.panel(f"encoder.{layer}.{head}"))
            most, beside = (round(100 * float(one)) for one in (weights[1:].max(), weights[0]))
            assert f"head {head}: up to {most} %, {beside} % on no patch" in drawn


def _chances(look: Look) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = look.scene.model(*look.scene.pieces[0].inputs).softmax(1)
    return found


def test_roles_know_rows_and_columns() -> None:
    """Heads made by hand on a grid of 3 × 4 behind a [CLS]."""
    line = patch_line(["[CLS]"], 3, 4)
    place = torch.arange(12)
    same = torch.eye(12)
    row = (place[:, None] // 4 == place // 4).float() - same
    column = (place[:, None] % 4 == place % 4).float() - same
    heads = torch.full((5, 13, 13), 1e-6)
    for number, wanted in enumerate((same, row, column)):
        heads[number, 1:, 1:] += wanted
    heads[3, :, 0] += 1
    near = torch.maximum((place[:, None] // 4 - place // 4).abs(), (place[:, None] % 4 - place % 4).abs()) <= 1
    heads[4, 1:, 1:] += near.float()
    heads = heads / heads.sum(2, keepdim=True)
    look = given(heads, list(line.tokens))
    tally = Tally(look.layers[0], line, line)
    tally.add(0, heads)
    scores = tally.scores()
    assert [role(*pair)[0] for pair in scores] == ["self", "row", "column", "special", "local"]
    assert scores[0][0]["distance"] == pytest.approx(0, abs=1e-3)
    assert scores[2][0]["distance"] == pytest.approx((1 + 2 + 1 + 1 + 2 + 1) / 6, abs=1e-3)
    assert "previous" not in scores[0][0]
    halves = (heads[2:3] + heads[3:4]) / 2  # half of it on [CLS], which is no distance away
    tally = Tally(given(halves, list(line.tokens)).layers[0], line, line)
    tally.add(0, halves)
    assert tally.scores()[0][0]["distance"] == pytest.approx(scores[2][0]["distance"], abs=1e-3)
    steps = torch.maximum((place[:, None] // 4 - place // 4).abs(), (place[:, None] % 4 - place % 4).abs())
    assert scores[4][0]["distance"] == pytest.approx(float((near * steps).sum(1).div(near.sum(1)).mean()), abs=1e-3)
