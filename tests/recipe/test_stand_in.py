"""Built-in texts stand in for the user's own: naming a file is enough to take their place, and nothing else is."""

from pathlib import Path
from typing import Any

import pytest

from regard.errors import RecipeError
from regard.recipe import Recipe
from regard.recipe.override import Override
from regard.training.menu import MENU


def data(*overrides: Override, of: Any = "gpt-char") -> dict[str, Any]:
    found: dict[str, Any] = Recipe.resolve(of, MENU, overrides).table()["data"]
    return found


def test_a_file_takes_the_place_of_built_in_texts(tmp_path: Path) -> None:
    assert data()["kind"] == "pydoc"
    for said in ("data.train=a.txt", {"data.train": "a.txt"}, {"data": {"train": "a.txt", "seed": 5}}):
        made = data(said)
        assert (made["kind"], made["train"]) == ("text", str(Path("a.txt").absolute()))
    made = data("data.seed=5", "data.train=a.txt", "data.valid=b.txt")
    assert (made["kind"], made["seed"]) == ("text", 5)
    assert data("data.valid_share=0.2", "data.train=a.txt")["valid_share"] == 0.2
    resolved = Recipe.resolve("gpt-char", MENU)
    assert data("data.train=a.txt", of=resolved)["kind"] == "text"


def test_what_else_is_said_changes_no_kind() -> None:
    assert data("data.valid_share=0.2") == data() | {"valid_share": 0.2}
    with pytest.raises(RecipeError, match="data.documents: unknown"):
        data("data.documents=line")
    with pytest.raises(RecipeError, match="data.train: unknown"):
        data("data.kind=pydoc", "data.train=a.txt")
    with pytest.raises(RecipeError, match="data.train: wanted a whole number"):
        data("data.train=a.txt", of="numbers-gru")
    own = Recipe.resolve("gpt-char", MENU, ["data.train=a.txt", "data.documents=line"])
    assert data("data.train=b.txt", of=own)["documents"] == "line"
    with pytest.raises(RecipeError, match="data.train: unknown"):
        Recipe.resolve({"model": "language_model", "task": "language", "data": {"kind": "pydoc", "train": "x"}}, MENU)


def test_a_slip_in_what_only_the_users_files_have_is_noticed() -> None:
    with pytest.raises(RecipeError, match=r"data\.trian: unknown; did you mean data\.train\?"):
        data("data.trian=a.txt")
    with pytest.raises(RecipeError, match=r"data\.foo: unknown; there is kind, "):
        data("data.foo=a.txt")


@pytest.mark.parametrize("recipe", ["numbers-gru", "numbers-transformer", "gru-additive", "transformer-tiny"])
@pytest.mark.parametrize("said", ["data.kind=toy", "data=toy", {"data": {"kind": "toy", "letters": 5}}])
def test_toy_data_bring_their_tokenizer(recipe: str, said: Override) -> None:
    made = Recipe.resolve(recipe, MENU, [said]).table()
    assert (made["data"]["kind"], made["tokenizer"]["kind"], made["tokenizer"]["vocab_size"]) == ("toy", "words", 0)


def test_a_tokenizer_that_is_said_stays() -> None:
    for said in ("tokenizer=characters", "tokenizer.kind=characters", {"tokenizer": {"kind": "characters"}}):
        assert Recipe.resolve("numbers-gru", MENU, ["data.kind=toy", said]).table()["tokenizer"]["kind"] == "characters"
    kept = Recipe.resolve("numbers-gru", MENU, ["data.kind=toy", "tokenizer.vocab_size=269"])
    assert (kept.table()["tokenizer"]["kind"], kept.table()["tokenizer"]["vocab_size"]) == ("bpe", 269)
    own = Recipe.resolve("numbers-gru", MENU, ["data.kind=toy", "tokenizer=bytes"])
    assert Recipe.resolve(own, MENU, ["data.kind=toy"]).table()["tokenizer"]["kind"] == "bytes"
