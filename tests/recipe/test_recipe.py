"""Recipes: read, overridden, completed, written, and read again."""

from pathlib import Path

import pytest

from regard.model.build import build, open_recipe
from regard.model.menu import MENU
from regard.recipe import Recipe, RecipeError, recipes

NAMES = sorted(recipes())


@pytest.mark.parametrize("name", NAMES)
def test_a_written_recipe_is_complete_and_reads_the_same(name: str, tmp_path: Path) -> None:
    recipe = open_recipe(name)
    file = tmp_path / f"{name}.toml"
    recipe.write(file)
    again = Recipe.read(str(file), MENU)
    assert again.table() == recipe.table()
    assert list(tmp_path.iterdir()) == [file]


def test_every_default_is_written_out(tmp_path: Path) -> None:
    Recipe.check({"model": {"kind": "language_model"}}, MENU).write(tmp_path / "r.toml")
    text = (tmp_path / "r.toml").read_text()
    for line in (
        "vocab_size = 8000",
        "heads = 8",
        'kernel = "auto"',
        "eps = 1e-05",
        "dropout = 0.0",
        'kind = "causal"',
    ):
        assert line in text


def test_overrides_set_values_kinds_and_whole_tables() -> None:
    model = open_recipe(
        "gpt-char",
        [
            "model.decoder.layers=2",
            "model.decoder.norm=rms",
            "model.decoder.attention.kind=linear",
            "model.decoder.positions={kind='sinusoidal', base=500.0}",
            "model.decoder.mlp.hidden=96",
        ],
    ).table()["model"]["decoder"]
    assert model["layers"] == 2
    assert model["norm"]["kind"] == "rms"
    assert model["attention"]["kind"] == "linear"
    assert "kv_heads" not in model["attention"]
    assert model["positions"] == {"kind": "sinusoidal", "base": 500.0}
    assert model["mlp"]["hidden"] == 96


def test_a_short_word_can_be_deepened_by_an_override() -> None:
    table = open_recipe("llama", ["model.decoder.positions.base=500000.0"]).table()
    assert table["model"]["decoder"]["positions"] == {"kind": "rotary", "base": 500000.0}


def test_the_schema_of_every_slot_is_json_and_closed() -> None:
    for slot in MENU:
        for entry in MENU.schema(slot.name)["oneOf"]:
            assert entry["additionalProperties"] is False
            assert entry["properties"]["kind"]["const"] in slot.entries


def transformer(**options: object) -> dict[str, object]:
    return {"decoder": {"kind": "transformer", **options}}


BAD = {
    "unknown key": (transformer(attention={"kind": "multihead", "kv_head": 2}), [
        "model.decoder.attention.kv_head: unknown; did you mean 'kv_heads'?"]),
    "wrong type": (transformer(layers="six"), [
        "model.decoder.layers: wanted a valid integer, given 'six'"]),
    "out of range": (transformer(dropout=1.5), [
        "model.decoder.dropout: wanted less than 1, given 1.5"]),
    "wrong choice": ({"decoder": {"kind": "recurrent", "order": "bahdanaw"}}, [
        "model.decoder.order: wanted 'bahdanau', 'luong', 'luong_feeding' or 'literal', given 'bahdanaw'"]),
    "heads that do not divide": (transformer(attention={"kind": "multihead", "heads": 7}) | {"width": 100}, [
        "model.decoder.attention: heads: 7 heads do not divide width 100"]),
    "groups that do not divide": (transformer(attention={"kind": "multihead", "heads": 8, "kv_heads": 3}), [
        "model.decoder.attention: kv_heads: 3 groups do not divide 8 heads"]),
    "window on linear attention": (transformer(attention="linear", pattern="window"), [
        "model.decoder.attention: a window cannot be cut out of linear attention's running sums; "
        "choose pattern full or causal"]),
    "too many active experts": (transformer(mlp={"kind": "experts", "experts": 4, "active": 5}), [
        "model.decoder.mlp: active: 5 of 4 experts cannot be active"]),
    "unknown kind": ({"decoder": {"kind": "transfomer"}}, [
        "model.decoder.kind: no decoder is called 'transfomer'; did you mean 'transformer'?"]),
    "no kind": ({"decoder": {"layers": 2}}, [
        "model.decoder.kind: missing; choose one of recurrent, convolution, transformer"]),
    "attention without an encoder": ({"decoder": {"kind": "recurrent", "attention": "additive"}}, [
        "model.decoder: there is no encoder to attend to; choose attention none and context start"]),
}  # fmt: skip


@pytest.mark.parametrize("fault", BAD)
def test_a_bad_recipe_is_told_by_place_wanted_and_given(fault: str) -> None:
    model, lines = BAD[fault]
    with pytest.raises(RecipeError) as told:
        build({"model": {"kind": "language_model", **model}})
    assert str(told.value).splitlines() == lines


def test_a_missing_slot_is_named() -> None:
    with pytest.raises(
        RecipeError, match=r"model\.decoder: missing; choose one of recurrent, convolution, transformer"
    ):
        build({"model": {"kind": "seq2seq", "encoder": "transformer"}})


def test_a_window_on_a_bidirectional_linear_encoder_is_refused() -> None:
    encoder = {"kind": "transformer", "attention": "linear", "pattern": "window"}
    with pytest.raises(RecipeError, match=r"model\.encoder\.attention: a window cannot be cut"):
        build({"model": {"kind": "seq2seq", "encoder": encoder, "decoder": "transformer"}})


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("model.decoder.layers", "wanted key.key=value"),
        ("modell.width=3", "modell: unknown; did you mean 'model'?"),
        ("model.width.deep=3", "is a value, so nothing can be set below it"),
    ],
)
def test_a_bad_override_is_told(override: str, told: str) -> None:
    with pytest.raises(RecipeError) as error:
        open_recipe("gpt-char", [override])
    assert told in str(error.value)


def test_many_faults_are_two_lines_at_most() -> None:
    decoder = {"kind": "transformer", "a": 1, "b": 2, "c": 3}
    with pytest.raises(RecipeError) as told:
        build({"model": {"kind": "language_model", "decoder": decoder}})
    assert len(str(told.value).splitlines()) == 2
    assert "(and 1 more)" in str(told.value)
