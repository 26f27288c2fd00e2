"""What is gathered: every attention under its kind, exact weights by rows and heads, for the ids really written."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from seen_models import SOURCE, TARGET, TRANSLATORS, given, read, translated, translator, writer

from regard.errors import InputError
from regard.looking.alignment import NoAttentionError, align
from regard.looking.look import gather
from regard.looking.overview import overview
from regard.model.watch import watch
from regard.tasks.language.scene import language_scene
from regard.tasks.language.scorer import Scorer
from regard.tasks.translation.scene import translation_scene

KINDS: dict[str, tuple[str, ...]] = {
    "fixed": (),
    "additive": ("alignment",),
    "luong": ("alignment",),
    "convolution": ("cross",),
    "transformer": ("encoder", "masked", "cross"),
    "linear": ("encoder", "masked", "cross"),
}
SHAPES = {"encoder": (7, 7), "masked": (8, 8), "cross": (8, 7), "alignment": (8, 7)}


@pytest.mark.parametrize("kind", TRANSLATORS)
def test_every_kind_of_attention_has_its_sides(kind: str) -> None:
    look = translated(kind)
    assert look.kinds == KINDS[kind]
    assert look.difference == 0.0
    assert look.mismatch < 1e-5
    for one in look.kinds:
        for panel in look.panels(f"heads.{one}"):
            weights = panel.table(words=False)
            assert weights.shape == SHAPES[one]
            torch.testing.assert_close(weights.sum(1), torch.ones(len(weights)))
            assert one != "masked" or (weights.triu(1) == 0).all()
    assert look.scene.lines["source"].words == (*SOURCE.split(), "<eos>")
    assert look.scene.lines["inputs"].words == ("<bos>", *TARGET.split())
    assert look.scene.lines["outputs"].words == (*TARGET.split(), "<eos>")


def test_weights_are_those_of_the_tap() -> None:
    look = translated("transformer")
    with watch(look.scene.model) as seen, torch.no_grad():
        look.scene.run(look.scene.pieces[0])
    for layer in look.layers:
        whole = seen[layer.name].weights[0]
        for head in range(layer.heads):
            torch.testing.assert_close(look.weights(layer.kind, layer.number, head), whole[head], rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(look.weights(layer.kind, layer.number, 1, 2, 5), whole[1, 2:5])
        torch.testing.assert_close(look.panel(str(layer)).table(False), whole.mean(0))
    mean = torch.tensor(align(look.scene.model, *(one[0].tolist() for one in look.scene.pieces[0].inputs)))
    torch.testing.assert_close(look.panel("cross").table(False), mean)


def test_sub_words_are_summed_in_columns_and_averaged_in_rows() -> None:
    look = read("the quick fox. the fox")
    panel = look.panel("masked.1.0")
    tokens, words = panel.table(words=False), panel.table(words=True)
    assert panel.rows.words == ("<eos>", "the", "quick", "fox", ".", "the", "fox")
    by_hand = torch.stack([tokens[a:b].mean(0) for a, b in panel.rows.spans])
    by_hand = torch.stack([by_hand[:, a:b].sum(1) for a, b in panel.columns.spans], 1)
    torch.testing.assert_close(words, by_hand)
    torch.testing.assert_close(words.sum(1), torch.ones(7))
    torch.testing.assert_close(panel.table(True, 2, 5), by_hand[2:5])
    torch.testing.assert_close(panel.cut("2:5", True).table(True), by_hand[2:5])
    torch.testing.assert_close(panel.cut("3:", False).table(False), tokens[3:])


@pytest.mark.parametrize("most", [3, 5, 100])
def test_pooled_cells_are_the_largest_of_their_weights(most: int) -> None:
    look = read("the quick fox jumps over the lazy dog")
    panel = look.panel("masked.0.1")
    whole, pooled = panel.table(words=False), panel.pooled(most, words=False)
    stride = -(-len(whole) // most)
    for row, cells in enumerate(pooled):
        for column, cell in enumerate(cells):
            part = whole[row * stride : (row + 1) * stride, column * stride : (column + 1) * stride]
            assert cell == part.max()
    assert max(pooled.shape) <= most
    assert torch.equal(overview(look, "masked", most, words=False)[0, 1], pooled)


def test_rows_in_small_blocks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    look = read("the quick fox jumps")
    before = {panel.name: (panel.table(), panel.pooled(4)) for panel in look.panels("heads")}
    monkeypatch.setattr("regard.looking.panel.BLOCK", 40)
    monkeypatch.setattr("regard.looking.layers.MEMORY", 700)
    small = read("the quick fox jumps")
    assert small.layers[0].most < 5
    for panel in small.panels("heads"):
        torch.testing.assert_close(panel.table(), before[panel.name][0])
        torch.testing.assert_close(panel.pooled(4), before[panel.name][1])


def test_pieces_do_not_see_each_other() -> None:
    used = translator("transformer", split=True)
    text = f"{SOURCE}. {SOURCE}."
    look = gather(translation_scene(used, text))
    found = used.translate([text])[0]
    assert len(look.scene.pieces) == len(found.parts) == 2
    assert look.scene.written == found.text
    first = look.scene.pieces[0].sizes
    weights = look.weights("cross", 1, 0)
    assert (weights[: first["outputs"], first["source"] :] == 0).all()
    assert (weights[first["outputs"] :, : first["source"]] == 0).all()
    torch.testing.assert_close(weights.sum(1), torch.ones(len(weights)))
    alone = gather(translation_scene(used, f"{SOURCE}.")).weights("cross", 1, 0)
    torch.testing.assert_close(weights[: len(alone), : alone.shape[1]], alone)


def test_what_a_model_writes_itself_is_looked_at() -> None:
    used = writer()
    look = gather(language_scene(used, "the quick", 6))
    (said,) = used.generate(["the quick"], 6)
    ids = [*used.encode("the quick"), *(one.token for one in said.tokens)]
    assert look.scene.lines["inputs"].ids == tuple(ids)
    assert look.scene.written == said.text
    assert look.scene.again is not None
    assert look.scene.again() == said.text
    ((_, scored),) = Scorer(used).score(["the quick"])
    logs = torch.tensor([one.log_prob for one in scored.tokens])
    torch.testing.assert_close(-torch.tensor(look.scene.costs()[: len(logs)]), logs, rtol=1e-4, atol=1e-4)


def test_ten_thousand_tokens_are_looked_at_a_few_rows_at_a_time() -> None:
    look = read("the quick fox " * 714, context=20_000, layers=1, pattern={"kind": "window", "width": 5})
    assert len(look.scene.lines["inputs"]) > 9_900
    rows = look.weights("masked", 0, 1, 9_000, 9_003)
    assert rows.shape == (3, len(look.scene.lines["inputs"]))
    assert ((rows > 0).sum(1) == 5).all()
    assert look.layers[0].most * len(look.scene.lines["inputs"]) * 16 <= 2**26


def test_how_exact_it_is_is_measured_and_not_just_said() -> None:
    look = read("the fox")
    glances = look.seen[0]["decoder.layers.1.attention"].glances
    glances[0] = replace(glances[0], mixed=glances[0].mixed + 0.5)  # as if the kernel had mixed by other weights
    assert look.mismatch == pytest.approx(0.5, abs=1e-5)
    passes = iter((0.0, 0.375))
    other = gather(replace(look.scene, states=lambda *given: look.scene.states(*given) + next(passes)))
    assert other.difference == pytest.approx(0.375, abs=1e-5)
    assert other.exactly == "exact to 4e-01"


def test_what_there_is_is_told_as_json() -> None:
    facts = json.loads(json.dumps(translated("transformer").facts()))
    assert [layer["kind"] for layer in facts["layers"]].count("cross") == 2
    assert facts["layers"][0] == {
        "kind": "encoder",
        "layer": 0,
        "name": "encoder.layers.0.attention",
        "heads": 2,
        "rows": "source",
        "columns": "source",
    }
    assert facts["sides"]["source"]["words"] == [*SOURCE.split(), "<eos>"]
    assert facts["difference"]["watched"] == 0.0
    assert facts["difference"]["weights"] < 1e-5
    assert facts["usual"] == "cross"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cross.2.0", r"^cross\.2\.0: cross has 2 layers, counted from 0$"),
        ("cross.0.2", r"^cross\.0\.2: cross\.0 has 2 heads, counted from 0$"),
        ("corss.0.0", r"nothing here has this name; there are encoder\.0\.0, masked\.0\.0, cross\.0\.0, influence\."),
        ("cross.0.0.0", "nothing here has this name"),
        ("cross.x", "nothing here has this name"),
        ("cross.-1", "nothing here has this name"),
        ("cross." + "9" * 5000, "nothing here has this name"),
        ("", "nothing here has this name"),
        ("rollout.cross", r"nothing here has this name; there are rollout\.encoder, rollout\.masked$"),
        ("influence.outputs", r"nothing here has this name; there are influence\.source, influence\.inputs$"),
        ("heads.alignment", "no such kind of attention here; there are encoder, masked, cross"),
    ],
)
def test_what_is_not_there_is_said(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        translated("transformer").panels(name)


def test_attention_to_the_source_goes_by_one_name_in_all_models() -> None:
    look = translated("additive")
    assert look.panel("cross.0.0").name == "alignment.0.0"
    assert [one.name for one in look.panels("heads.cross")] == ["alignment.0.0"]
    assert look.without("cross").loss == look.without("alignment").loss


def test_a_sink_is_where_most_weight_of_the_mean_is_on_the_first_token() -> None:
    spread = torch.ones(2, 6, 6).tril()
    sink = torch.eye(6)[[0] * 6].expand(2, 6, 6)
    assert given(sink, list("abcdef")).is_sink("masked")
    assert given(0.6 * sink + 0.4 * torch.eye(6), list("abcdef")).is_sink("masked")
    assert not given(spread / spread.sum(-1, keepdim=True), list("abcdef")).is_sink("masked")


def test_a_model_without_attention_is_shown_by_influence() -> None:
    look = translated("fixed")
    assert look.usual == "influence.source"
    assert look.layers == ()
    with pytest.raises(NoAttentionError, match=r"this model has no attention; influence\.source shows what counted"):
        look.panels("heads")
    with pytest.raises(InputError, match="there is no self-attention"):
        look.panel("rollout")
    assert repr(look) == f"Look({SOURCE!r}, 0 heads)"


def test_too_long_a_text_is_refused() -> None:
    used = writer(context=8)
    with pytest.raises(InputError, match="the text has 10 tokens, and the model takes in 8 at most; shorten it"):
        language_scene(used, "the quick")
    limited: Any = translator("transformer")
    limited.model.encoder.limit = 4
    with pytest.raises(InputError, match="the text has 7 tokens, and the model takes in 4 at most"):
        translation_scene(limited, SOURCE, TARGET)
    limited.model.encoder.limit, limited.model.decoder.limit = None, 5
    with pytest.raises(InputError, match="the target has 8 tokens, and the model takes in 5 at most"):
        translation_scene(limited, SOURCE, TARGET)
    for text in ("", "  "):
        with pytest.raises(InputError, match="nothing to look at: the text is empty"):
            translation_scene(translator("transformer"), text)
    with pytest.raises(InputError, match="nothing to look at: the text is empty; tokens=20 writes one"):
        language_scene(used, "")
