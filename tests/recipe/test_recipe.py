"""Recipes: read, completed, written, read again, and refused with the place."""

from pathlib import Path

import pytest
import tomli_w

from regard.model.build import build, open_recipe
from regard.model.menu import MENU
from regard.recipe import Recipe, RecipeError, recipes

NAMES = sorted(recipes())
KINDS = ", ".join(MENU.slots["model"].entries)


@pytest.mark.parametrize("name", NAMES)
def test_a_written_recipe_is_complete_and_reads_the_same(name: str, tmp_path: Path) -> None:
    recipe = open_recipe(name)
    file = tmp_path / f"{name}.toml"
    file.write_text(tomli_w.dumps(recipe.table()))
    again = open_recipe(str(file))
    assert again == recipe
    assert again.table() == recipe.table() == Recipe.check(recipe.table(), MENU).table()
    assert (recipe.name, recipe.about) == (name, recipes()[name])
    assert recipe.about


def test_every_default_is_written_out() -> None:
    text = tomli_w.dumps(Recipe.check({"model": {"kind": "language_model"}}, MENU).table())
    for line in (
        "vocab_size = 8000",
        "heads = 8",
        'kernel = "auto"',
        "eps = 1e-05",
        "dropout = 0.0",
        'kind = "causal"',
    ):
        assert line in text


def test_a_recipe_s_own_tables_are_left_as_they_were() -> None:
    table = {"model": {"kind": "language_model", "decoder": {"kind": "transformer"}}}
    made = open_recipe(table, ["model.decoder.layers=2", "name=mine"])
    assert table == {"model": {"kind": "language_model", "decoder": {"kind": "transformer"}}}
    assert (made.name, made.table()["model"]["decoder"]["layers"]) == ("mine", 2)
    assert open_recipe(made) is made


def transformer(**options: object) -> dict[str, object]:
    return {"decoder": {"kind": "transformer", **options}}


BAD = {
    "unknown key": (transformer(attention={"kind": "multihead", "kv_head": 2}), [
        "model.decoder.attention.kv_head: unknown; did you mean model.decoder.attention.kv_heads?"]),
    "a key of another kind": (transformer(attention={"kind": "dot", "heads": 2}), [
        "model.decoder.attention.heads: unknown; 'dot' has no such option: "
        "it belongs to model.decoder.attention.kind=multihead or model.decoder.attention.kind=linear"]),
    "wrong type": (transformer(layers="six"), [
        "model.decoder.layers: wanted a whole number ≥ 1, given 'six'"]),
    "out of range": (transformer(dropout=1.5), [
        "model.decoder.dropout: wanted a number ≥ 0 and < 1, given 1.5"]),
    "more than single precision holds": (transformer(norm={"kind": "rms", "eps": 1e308}), [
        "model.decoder.norm.eps: wanted a number > 0 and ≤ 1, given 1e+308"]),
    "wrong choice": ({"decoder": {"kind": "recurrent", "order": "bahdanaw"}}, [
        "model.decoder.order: wanted one of bahdanau, luong, luong_feeding, literal, given 'bahdanaw'"]),
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
    "no kind": ({"kind": "seq2seq", "encoder": "transformer", "decoder": {"layers": 2}}, [
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


def test_many_faults_are_two_lines_at_most() -> None:
    decoder = {"kind": "transformer", "a": 1, "b": 2, "c": 3}
    with pytest.raises(RecipeError) as told:
        build({"model": {"kind": "language_model", "decoder": decoder}})
    assert len(str(told.value).splitlines()) == 2
    assert "(and 1 more)" in str(told.value)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, f"model: missing; choose one of {KINDS}"),
        ({"name": 5, "model": "language_model"}, "name: wanted a text, given 5"),
        ({"about": ["x"], "model": "language_model"}, "about: wanted a text, given ['x']"),
        ({"model": 5}, f"model: wanted one of {KINDS}, given 5"),
        ({"model": "gpt"}, "model.kind: no model is called 'gpt'"),
        ({"model": {"kind": ["seq2seq"]}}, "model.kind: no model is called ['seq2seq']"),
        ({"modell": {}, "model": "language_model"}, "modell: unknown; did you mean model?"),
    ],
    ids=str,
)
def test_what_is_no_recipe_is_said(table: dict[str, object], said: str) -> None:
    with pytest.raises(RecipeError) as told:
        Recipe.check(table, MENU)
    assert str(told.value).startswith(said)


def test_files_that_are_no_recipes_are_said(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "words.toml").write_text("this is no recipe")
    (tmp_path / "deep.toml").write_text("a = " + "[" * 9_999)
    for name, said in (
        ("bytes.toml", "not TOML: "),
        ("words.toml", "not TOML: "),
        ("deep.toml", "not TOML: "),
        ("nothing.toml", "no such file; there are some that come with Regard: regard.recipes()"),
    ):
        with pytest.raises(RecipeError, match=f"{name}: {said}"):
            open_recipe(str(tmp_path / name))
    with pytest.raises(RecipeError, match="^gpt-chart: no such recipe or file; did you mean 'gpt-char'?"):
        open_recipe("gpt-chart")


def test_the_recipe_of_a_run_is_found_by_its_folder(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(tomli_w.dumps(open_recipe("gpt-char").table()))
    assert open_recipe(str(tmp_path)).model == open_recipe("gpt-char").model


def test_sizes_are_those_of_the_data_or_nothing_is_made() -> None:
    free = Recipe.check({"model": {"kind": "language_model"}}, MENU)
    sized = free.sized({"vocab_size": 300}, MENU)
    assert sized.table()["model"]["vocab_size"] == 300
    assert sized.sized({"vocab_size": 300}, MENU) == sized
    for said in (sized, Recipe.check({"model": {"kind": "language_model", "vocab_size": 300}}, MENU)):
        with pytest.raises(RecipeError, match="^model.vocab_size: the recipe says 300, the data give 8,000; leave it"):
            said.sized({"vocab_size": 8_000}, MENU)
    with pytest.raises(RecipeError, match="^model.kind: 'language_model' has no source_vocab_size, which the task ask"):
        free.sized({"source_vocab_size": 300}, MENU)
