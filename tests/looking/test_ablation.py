"""Heads switched off: the loss and the answer of the very model without them, many at once or one by one."""

import pytest
import torch
from seen_models import SOURCE, read, translated, translator

from regard.errors import InputError
from regard.looking.ablation import effects, without
from regard.looking.look import gather
from regard.model.watch import silenced
from regard.tasks.translation.scene import translation_scene


@pytest.mark.parametrize("kind", ["transformer", "additive", "luong", "convolution", "linear"])
def test_many_at_once_are_what_they_are_alone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    look = translated(kind)
    off = [{layer.name: [head]} for layer in look.layers for head in range(layer.heads)]
    monkeypatch.setattr("regard.looking.ablation.TOKENS", 60)  # two or three at a time
    found = effects(look, off)
    before = torch.tensor(look.scene.costs())
    for effect, one in zip(found, off, strict=True):
        with silenced(look.scene.model, one):
            after = torch.tensor(look.scene.costs())
        assert effect.loss == pytest.approx(float((after - before).mean()), abs=1e-4)
    assert max(abs(effect.loss) for effect in found) > 1e-3


def test_changed_tokens_are_those_that_would_be_written_otherwise() -> None:
    look = read("the fox jumps")
    scene, (piece,) = look.scene, look.scene.pieces
    off = {layer.name: [0, 1] for layer in look.layers}
    with torch.no_grad():
        plain = scene.model.head(scene.run(piece)).argmax(-1)[0, :-1]
        with silenced(scene.model, off):
            other = scene.model.head(scene.run(piece)).argmax(-1)[0, :-1]
    assert effects(look, [off, {}])[0].changed == int((plain != other).sum()) > 0
    assert effects(look, [off, {}])[1].changed == 0
    assert effects(look, [off, {}])[1].loss == pytest.approx(0.0, abs=1e-6)


def test_changes_are_told_one_by_one() -> None:
    look = read("the fox jumps")
    gone = without(look, ["masked"], again=False)
    assert 0 < len(gone.changes) <= gone.changed
    scene, (piece,) = look.scene, look.scene.pieces
    off = {layer.name: [0, 1] for layer in look.layers}
    with torch.no_grad(), silenced(scene.model, off):
        after = scene.model.head(scene.run(piece)).argmax(-1)[0]
    for one in gone.changes:
        assert one.after == scene.named([int(after[one.step])])[0]


def test_losses_are_means_over_all_that_was_written_in_every_piece() -> None:
    look = gather(translation_scene(translator("transformer", split=True), f"{SOURCE}. ein Hund."))
    off = {"decoder.layers.0.cross": [0, 1]}
    sizes = {len(piece.outputs) for piece in look.scene.pieces}
    assert len(look.scene.pieces) == len(sizes) == 2  # of unlike length, so that no mean of means will do
    before = torch.tensor(look.scene.costs())
    with silenced(look.scene.model, off):
        after = torch.tensor(look.scene.costs())
    gone = without(look, ["cross.0"], again=False)
    assert gone.loss == pytest.approx((float(before.mean()), float(after.mean())), abs=1e-4)
    assert effects(look, [off])[0].loss == pytest.approx(float((after - before).mean()), abs=1e-4)


def test_a_translator_answers_without_them() -> None:
    used = translator("transformer")
    look = gather(translation_scene(used, SOURCE))
    gone = without(look, ["cross", "masked.1.0"])
    off = {f"decoder.layers.{n}.cross": [0, 1] for n in range(2)} | {"decoder.layers.1.attention": [0]}
    with silenced(used.model, off):
        assert gone.answer == used.translate([SOURCE])[0].text
    assert gone.loss[1] != gone.loss[0]
    assert gone.tokens == len(look.scene.lines["outputs"])
    assert without(look, ["cross.0.1"], again=False).answer is None
    assert used.translate([SOURCE])[0].text == look.scene.written  # and nothing stays off


@pytest.mark.parametrize("name", ["influence.source", "rollout.encoder", "cross.0.9", "nothing"])
def test_what_is_no_head_cannot_be_switched_off(name: str) -> None:
    with pytest.raises(InputError, match=r"^(influence|rollout|cross|nothing)"):
        without(translated("transformer"), [name])
