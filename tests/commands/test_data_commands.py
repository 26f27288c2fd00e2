"""regard data: what there is, and how the cache is emptied."""

import json
from pathlib import Path

import pytest
from spoken import WORDS, refused, regard

from regard.datasets.data import SPLITS
from regard.datasets.get import GENERATED
from regard.datasets.menu import SLOTS


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
