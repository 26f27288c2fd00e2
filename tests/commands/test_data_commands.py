"""regard data: what there is, and how the cache is emptied."""

import json
from pathlib import Path

import pytest
from spoken import WORDS, refused, regard

from regard.datasets.data import SPLITS
from regard.datasets.get import GENERATED, IMAGES
from regard.datasets.images import zips
from regard.datasets.menu import SLOTS
from regard.recipe import Recipe
from regard.training.menu import MENU


def test_data_list_names_what_there_is() -> None:
    done = regard("data", "list")
    assert (done.code, done.err) == (0, "")
    assert all(kind in done.out for kind in SLOTS[0].entries)
    assert "homeassistant" in done.out
    found = json.loads(regard("data", "list", "--json").out)
    assert set(found["built_in"]) == {*SLOTS[0].entries, *SLOTS[1].entries, *SLOTS[2].entries}
    assert found["registry"]["homeassistant"]["licence"]


@pytest.mark.parametrize("name", GENERATED)
def test_generated_data_can_be_had_as_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = regard("data", "get", name, "--source", "fr", "--target", "en", "--out", "mine")
    assert (done.code, done.err) == (0, "")
    folder = Path("mine") / f"{name}-fr-en"
    made = SLOTS[0].entries[name](source="fr", target="en")
    for split in SPLITS:
        sides = [(folder / f"{split}.{side}").read_text(encoding="utf-8").splitlines() for side in ("fr", "en")]
        assert list(zip(*sides, strict=True)) == list(made.read(split))
    assert f"data.train={folder}/train" in done.out  # the command that trains on it
    refused(2, f"{name}: target: 'en' is the source already", "data", "get", name, "--source", "en", "--target", "en")


@pytest.mark.parametrize("name", ["numbers", "pydoc"])
def test_files_that_were_changed_are_not_written_over(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    get = ["data", "get", name, "--out", "mine"]
    assert regard(*get).code == 0
    assert regard(*get).code == 0  # the same contents
    edited = sorted(one for one in Path("mine").rglob("*") if one.is_file() and "licence" not in one.name.lower())[0]
    before = edited.read_bytes()
    edited.write_text("mine")
    refused(3, f"{edited}: there already, and not what would be written", *get)
    assert edited.read_text() == "mine"
    assert regard(*get, "--overwrite").code == 0
    assert edited.read_bytes() == before


@pytest.mark.parametrize("name", IMAGES)
def test_letters_and_digits_are_sent_to_a_recipe_that_mirrors_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.datasets.get.get", lambda *words: Path(f"{name}.zip"))
    monkeypatch.setattr(zips.Zip, "entries", lambda archive: iter(()))
    done = regard("data", "get", name)
    recipe = done.lines[-1].split()[2]
    assert done.lines[-1].strip() == f"regard train {recipe} data.train={name}.zip"
    made = Recipe.resolve(recipe, MENU, [f"data.train={name}.zip"]).table()
    assert (made["data"]["kind"], made["augmentation"]["flip"]) == ("folder", 0.0)


def test_a_language_that_is_none_is_told_those_that_are() -> None:
    done = regard("data", "get", "phrases", "--source", "xx")
    assert (done.code, done.err) == (2, "regard: phrases.source: wanted one of en, de, fr, it, ko, given 'xx'\n")


def test_a_word_that_is_none_of_a_few_is_refused_in_plain_words() -> None:
    refused(2, "invalid value for 'what': 'nosuch' is not one of 'translation', 'text', 'images'", "demo", "nosuch")
    assert "Value error" not in regard("demo", "nosuch").err


def test_names_that_are_none_get_the_nearest() -> None:
    refused(3, "nubmers: no such data set; did you mean 'numbers'?", "data", "get", "nubmers")


def test_data_clean_empties_the_cache_and_says_how_much_that_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    assert regard("train", *WORDS, "training.steps=1", "--out", str(tmp_path / "run")).code == 0
    held = list((tmp_path / "cache" / "encoded").iterdir())
    size = sum(file.stat().st_size for path in held for file in path.iterdir())
    assert json.loads(regard("data", "clean", "--json").out) == {"removed": len(held), "bytes": size}
    assert list((tmp_path / "cache" / "encoded").iterdir()) == []
    assert regard("data", "clean").out == "0 things removed, 0 B freed.\n"
    assert regard("train", str(tmp_path / "run"), "--resume").code == 0
