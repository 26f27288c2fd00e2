"""Keys that nobody knows are answered with those that were meant, and these are right for the recipe at hand."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import regard
from regard.recipe import Recipe, RecipeError, recipes
from regard.recipe.keys import Keys, same_name
from regard.recipe.read import read
from regard.recipe.synonyms import SYNONYMS
from regard.training.menu import MENU

OWN = ["data.train=mine"]  # what recipes without data of their own lack


def resolved(name: str, *overrides: str) -> dict[str, Any]:
    try:
        return Recipe.resolve(name, MENU, overrides).table()
    except RecipeError:
        return Recipe.resolve(name, MENU, [*OWN, *overrides]).table()


def below(table: Mapping[str, Any], place: str = "") -> Iterator[str]:
    for key, value in table.items():
        yield f"{place}{key}"
        if isinstance(value, Mapping):
            yield from below(value, f"{place}{key}.")


@pytest.mark.parametrize("name", recipes())
def test_the_keys_of_every_recipe_are_those_that_it_may_set(name: str) -> None:
    """As it is written, where most is left out."""
    whole = resolved(name)
    keys = Keys(read(name), MENU)
    there = {key for key in below(whole) if not key.startswith("from")}
    named = {key for key in keys.valid if not key.startswith("from")}
    assert there <= named
    assert named - there <= {"data.train"}  # files in place of data that come with Regard


@pytest.mark.parametrize("name", recipes())
def test_every_key_suggested_may_be_set_in_that_recipe(name: str) -> None:
    whole = resolved(name)
    keys, there = (
        Keys(whole, MENU),
        {*below(whole), *below({"from": {"run": ""}}), "from.parts", "from.kind", "data.train"},
    )
    names = {key.rpartition(".")[2] for key in there} | SYNONYMS.keys()
    answered = 0
    for wrong in sorted(names - there - {"kind"}):
        suggested = keys.suggest(wrong)
        chosen = re.findall(r"[a-z_.]+\.kind=\w+", suggested)
        meant = re.findall(r"\b[a-z_]+(?:\.[a-z_0-9]+)+", suggested.partition(" (with ")[0])
        if chosen:  # it is there once that is chosen
            assert all(key in below(resolved(name, chosen[0])) or len(chosen) > 1 for key in meant), (wrong, suggested)
        else:
            assert there.issuperset(meant), (wrong, suggested)
        answered += bool(meant)
    assert answered > 100


def test_every_synonym_is_of_a_key_that_some_recipe_has() -> None:
    ends = {end for several in SYNONYMS.values() for end in several}
    there = {f".{key}" for name in recipes() for key in below(resolved(name))}
    assert all(any(key.endswith(f".{end}") for key in there) for end in ends)


@pytest.mark.parametrize(
    ("recipe", "key", "said"),
    [
        ("numbers-gru", "steps", "training.steps?"),
        ("numbers-gru", "epochs", "training.epochs?"),
        ("numbers-gru", "dropout", "model.encoder.dropout or model.decoder.dropout?"),
        ("gpt-char", "dropout", "model.decoder.dropout?"),
        ("numbers-gru", "batch_size", "task.batch_tokens?"),
        ("mnist-vit", "batch_size", "task.batch_images?"),
        ("numbers-gru", "learning_rate", "training.optimizer.learning_rate?"),
        ("numbers-gru", "lr", "training.optimizer.learning_rate?"),
        ("numbers-gru", "training.lr", "training.optimizer.learning_rate?"),
        ("numbers-gru", "training.optimizer.lr", "training.optimizer.learning_rate?"),
        ("numbers-gru", "optimizer.lr", "training.optimizer.learning_rate?"),
        ("numbers-gru", "encoder.layers", "model.encoder.layers?"),
        ("gpt-char", "hidden_size", "model.width?"),
        ("gpt-char", "vocab_size", "tokenizer.vocab_size?"),
        ("gpt-char", "block_size", "task.context?"),
        ("transformer-tiny", "decoding.lenght", "decoding.length_penalty or decoding.min_length?"),
        ("transformer-tiny", "stepps", "training.steps?"),
        ("gpt-char", "beam", "decoding.beam_size (with decoding.kind=beam)?"),
        ("transformer-tiny", "foo", ""),
    ],
)
def test_what_was_meant_is_said_with_its_whole_key(recipe: str, key: str, said: str) -> None:
    with pytest.raises(RecipeError) as error:
        Recipe.resolve(recipe, MENU, [*(OWN if recipe == "transformer-tiny" else []), f"{key}=3"])
    assert str(error.value).startswith(f"{key}: unknown; " + (f"did you mean {said}" if said else "there is name, "))


@pytest.mark.parametrize("wrong", ["lr=3", "data.sede=3", "training.optimizer.lr=3", "layers=3", "norm=rms"])
def test_describing_passes_over_no_key(wrong: str) -> None:
    """Though only the model is made, which has no use for most of them."""
    key = wrong.partition("=")[0]
    with pytest.raises(RecipeError, match=f"^{re.escape(key)}: unknown; "):
        regard.describe("gpt-char", wrong)


def test_describing_takes_the_keys_of_training() -> None:
    assert regard.describe("gru-lm", "training.optimizer.learning_rate=1e-3", "data.train=mine").parameters


def test_building_passes_over_no_option_of_the_model() -> None:
    for wrong in ("layers=3", "norm=rms"):
        with pytest.raises(RecipeError, match=r"unknown; did you mean model\.decoder\."):
            regard.build("gpt-char", wrong)


def test_of_several_keys_the_one_in_the_tables_that_were_named_is_meant() -> None:
    keys = ["training.seed", "data.seed", "model.decoder.seed"]
    assert same_name("seed", keys) == keys[:2]
    assert same_name("data.seeds", keys) == []
    assert same_name("data.x.seed", keys) == ["data.seed"]
    assert same_name("decoder.seed", keys) == ["model.decoder.seed"]
