"""Influence by gradients: s_ij = x_j · ∂ log p(y_i) / ∂ x_j for any model, the future exactly nothing."""

import pytest
import torch
from seen_models import TRANSLATORS, read, translated, translator, writer

from regard.errors import InputError
from regard.looking.look import Look, gather
from regard.model.quantize import quantize
from regard.tasks.language.scene import language_scene
from regard.tasks.translation.scene import translation_scene

LMS = {
    "transformer": {},
    "window": {"pattern": {"kind": "window", "width": 3}},
    "lstm": {"kind": "recurrent", "cell": "lstm", "layers": 1},
    "convolution": {"kind": "convolution", "layers": 2},
}


def language(kind: str) -> Look:
    return gather(language_scene(_writer(kind), "the fox jumps"))


def _writer(kind: str):
    table = LMS[kind]
    if table.get("kind", "transformer") == "transformer":
        return writer(**table)
    from seen_models import LETTERS, random

    from regard.decoding.sample import Greedy
    from regard.tasks.language.facts import Facts
    from regard.tasks.language.generator import TextGenerator

    model = random({"kind": "language_model", "vocab_size": len(LETTERS), "width": 16, "decoder": table})
    return TextGenerator(model, LETTERS, Facts.of(LETTERS), Greedy(), 64)


@pytest.mark.parametrize("kind", TRANSLATORS)
def test_it_is_how_log_p_falls_when_a_vector_is_shrunk(kind: str) -> None:
    """To first order: x_j (1 − ε) for x_j, once for every position of the source."""
    look = translated(kind)
    scene, (piece,) = look.scene, look.scene.pieces
    source, step, row = scene.model.source, 1e-3, 2
    signed = look.influence.signed("source", row, row + 1)[0]
    for place in range(piece.sizes["source"]):
        found = []
        for share in (1 - step, 1 + step):

            def scaled(_module, _given, out, place=place, share=share):
                out = out.double() if out.dtype == torch.float64 else out.clone()
                out[:, place] *= share
                return out

            hook = source.register_forward_hook(scaled)
            with torch.no_grad():
                found.append(float(scene.log_probs(piece, scene.run(piece))[0, row]))
            hook.remove()
        assert (found[1] - found[0]) / (2 * step) == pytest.approx(float(signed[place]), abs=2e-3)


@pytest.mark.parametrize("kind", TRANSLATORS)
def test_shares_of_all_that_was_read_are_one(kind: str) -> None:
    influence = translated(kind).influence
    both = [influence.shares(side, 0, 8) for side in ("source", "inputs")]
    torch.testing.assert_close(both[0].sum(1) + both[1].sum(1), torch.ones(8))
    assert (both[1].triu(1) == 0).all()  # what comes later was not read yet
    assert both[0].min() > 0
    torch.testing.assert_close(influence.shares("source", 3, 5), both[0][3:5])


@pytest.mark.parametrize("kind", LMS)
def test_language_models_are_influenced_by_the_past_alone(kind: str) -> None:
    look = language(kind)
    shares = look.panel("influence.inputs").table(words=False)
    assert shares.shape == (13, 14)
    assert (shares.triu(1) == 0).all()
    torch.testing.assert_close(shares.sum(1), torch.ones(13))
    assert look.usual == ("masked" if kind in ("transformer", "window") else "influence.inputs")
    reach = {"window": 4, "convolution": 4}.get(kind)  # two layers of width 3: two back each
    if reach:
        assert (shares.tril(-reach - 1) == 0).all()
        assert (shares.diagonal(-reach) > 0).all()


def test_it_is_measured_a_few_rows_at_a_time_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    look = read("the fox")
    whole = look.influence.signed("inputs", 0, 7)
    rows = []
    run = type(look.scene).run
    monkeypatch.setattr(
        type(look.scene), "run", lambda self, piece, rows_=1: rows.append(rows_) or run(self, piece, rows_)
    )
    assert torch.equal(look.influence.signed("inputs", 2, 5), whole[2:5])
    assert rows == []
    monkeypatch.setattr("regard.looking.influence.TOKENS", 20)
    fresh = read("the fox").influence
    rows.clear()
    torch.testing.assert_close(fresh.signed("inputs", 1, 6), whole[1:6], rtol=1e-4, atol=1e-6)
    assert rows == [2, 2, 1]
    monkeypatch.setattr("regard.looking.influence.KEPT", 1)
    torch.testing.assert_close(fresh.signed("inputs", 0, 7), whole, rtol=1e-4, atol=1e-6)


def test_nothing_is_left_behind() -> None:
    used = translator("transformer")
    look = gather(translation_scene(used, "ein Hund", "a dog"))
    look.influence.shares("source", 0, 3)
    assert not used.model.source._forward_hooks
    assert all(parameter.grad is None for parameter in used.model.parameters())


def test_weights_in_eight_bits_have_no_gradients() -> None:
    used = translator("transformer")
    quantize(used.model)
    look = gather(translation_scene(used, "ein Hund", "a dog"))
    with pytest.raises(InputError, match="influence needs gradients, which weights in eight bits have not"):
        look.influence.shares("source", 0, 1)
