"""Overrides: values, kinds and whole tables, in whatever order they are said."""

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.model.build import open_recipe
from regard.recipe import RecipeError
from regard.recipe.read import put

many = settings(deadline=None, max_examples=150, derandomize=True)


def decoder(*overrides: str, of: str = "gpt-char") -> dict[str, Any]:
    found: dict[str, Any] = open_recipe(of, overrides).table()["model"]["decoder"]
    return found


def test_overrides_set_values_kinds_and_whole_tables() -> None:
    made = decoder(
        "model.decoder.layers=2",
        "model.decoder.norm=rms",
        "model.decoder.attention.kind=linear",
        "model.decoder.positions={kind='sinusoidal', base=500.0}",
        "model.decoder.mlp.hidden=96",
    )
    assert made["layers"] == 2
    assert made["norm"]["kind"] == "rms"
    assert made["attention"]["kind"] == "linear"
    assert "kv_heads" not in made["attention"]
    assert made["positions"] == {"kind": "sinusoidal", "base": 500.0}
    assert made["mlp"]["hidden"] == 96


def test_a_short_word_can_be_deepened_by_an_override() -> None:
    made = decoder("model.decoder.positions.base=500000.0", of="llama")["positions"]
    assert (made["kind"], made["base"]) == ("rotary", 500000.0)


def test_more_can_be_said_about_what_is_there_by_default() -> None:
    """The recipe names no norm of its own; its table need not say which kind it is."""
    table = {"model": {"kind": "language_model", "decoder": {"kind": "transformer"}}}
    usual = open_recipe(table).table()["model"]["decoder"]
    made = open_recipe(table, ["model.decoder.norm.eps=1e-3", "model.decoder.attention.heads=2"]).table()
    assert made["model"]["decoder"]["norm"] == usual["norm"] | {"eps": 1e-3}
    assert made["model"]["decoder"]["attention"] == usual["attention"] | {"heads": 2}
    deep = {"kind": "language_model", "decoder": {"norm": {"eps": 1e-3}}}
    assert open_recipe({"model": deep}).table()["model"]["decoder"]["norm"]["eps"] == 1e-3


ORDERS = [
    ["model.decoder=transformer", "model.decoder.attention.kind=linear", "model.decoder.attention.heads=2"],
    [
        "model.decoder.kind=recurrent",
        "model.decoder.layers=3",
        "model.decoder.cell=gru",
        "model.width=64",
    ],
    ["model.decoder.norm=rms", "model.decoder.norm.eps=1e-3", "model.decoder.layers=2", "model.width=64"],
    ["model={kind='language_model', width=64}", "model.decoder={kind='transformer'}", "model.decoder.layers=1"],
    ["model.decoder={kind='transformer', layers=9}", "model.decoder.kind=transformer", "model.decoder.layers=1"],
    ["model=language_model", "model.decoder.kind=transformer", "model.decoder.mlp.kind=swiglu", "model.width=64"],
]


@many
@given(said=st.sampled_from(ORDERS).flatmap(st.permutations))
def test_the_order_of_overrides_says_nothing(said: list[str]) -> None:
    wanted = next(order for order in ORDERS if sorted(order) == sorted(said))
    assert open_recipe("gpt-char", said).table() == open_recipe("gpt-char", wanted).table()


def test_what_is_said_deeper_is_not_lost() -> None:
    first, second, third, _, fifth, last = (decoder(*said) for said in ORDERS)
    assert (first["attention"]["kind"], first["attention"]["heads"]) == ("linear", 2)
    assert (second["layers"], second["cell"]["kind"]) == (3, "gru")
    assert (third["norm"]["kind"], third["norm"]["eps"]) == ("rms", 1e-3)
    assert fifth["layers"] == 1
    assert last["mlp"]["kind"] == "swiglu"


KEYS = st.lists(st.sampled_from(["a", "b", "kind"]), min_size=1, max_size=3).map(".".join)


@many
@given(overrides=st.dictionaries(KEYS, st.sampled_from(["x", "{b=1}", "{kind='y'}"]), max_size=5), order=st.data())
def test_any_overrides_in_any_order_give_the_same_table(overrides: dict[str, str], order: st.DataObject) -> None:
    said = [f"{key}={value}" for key, value in overrides.items()]
    shuffled = order.draw(st.permutations(said))
    start = {"a": {"kind": "old", "b": {"kind": "older"}}, "b": "word"}

    def made(said: list[str]) -> dict[str, Any] | str:
        try:
            return put(copy.deepcopy(start), said)
        except RecipeError:
            return "refused"

    assert made(said) == made(shuffled)


def test_the_last_word_about_one_key_counts() -> None:
    assert put({}, ["a.b=1", "a.b=2"]) == {"a": {"b": 2}}


def test_another_kind_takes_the_options_of_the_old_one_away() -> None:
    table = {"norm": {"kind": "layer", "eps": 1.0, "bias": False}}
    assert put(copy.deepcopy(table), ["norm.kind=layer"]) == table
    assert put(copy.deepcopy(table), ["norm.eps=2.0", "norm.kind=rms"]) == {"norm": {"kind": "rms", "eps": 2.0}}


def test_what_is_no_toml_is_a_word() -> None:
    said = ["a=1", "b=1.5", "c=true", "d=word", "e='1'", "f=[1, 2]", "g=~/x y", "h=", "i=[", "j= de ", "k=a=b"]
    wanted = {"a": 1, "b": 1.5, "c": True, "d": "word", "e": "1", "f": [1, 2], "g": "~/x y", "h": "", "i": "["}
    assert put({}, said) == wanted | {"j": "de", "k": "a=b"}


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("model.decoder.layers", "wanted key.key=value"),
        ("=3", "wanted key.key=value"),
        ("model..layers=3", "wanted key.key=value"),
        ("modell.width=3", "modell: unknown; did you mean model?"),
        ("model.width.deep=3", "is a value, so nothing can be set below it"),
    ],
)
def test_a_bad_override_is_told(override: str, told: str) -> None:
    with pytest.raises(RecipeError) as error:
        open_recipe("gpt-char", [override])
    assert told in str(error.value)


def test_values_from_python_become_what_a_recipe_can_hold() -> None:
    """Paths and tuples, alone, in lists, in tables of their own and below other keys."""
    given = {
        "data": {"train": Path("a/b"), "deep": {"files": (Path("c"), "d")}},
        "data.valid": [Path("e")],
        "empty": {},
    }
    wanted = {"data": {"train": "a/b", "deep": {"files": ["c", "d"]}, "valid": ["e"]}, "empty": {}}
    assert put({}, [given]) == wanted
    assert put({}, [{"data.table": [{"file": Path("f")}]}]) == {"data": {"table": [{"file": "f"}]}}
