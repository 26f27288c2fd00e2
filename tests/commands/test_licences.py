"""On what terms data may be used: said in the list, beside data that are got, in a run, and when it is packed."""

import json
from pathlib import Path

import pytest
from spoken import SMALL, regard

from regard.datasets.licence import licence_of, state_licence
from regard.datasets.menu import SLOTS

FEW = ["training.steps=1", "-q"]
PHRASES = "Apache-2.0, as Regard itself"


def test_all_built_in_data_say_their_licence() -> None:
    licences = json.loads(regard("data", "list", "--json").out)["licences"]
    built_in = {kind for slot in SLOTS[:3] for kind in slot.entries} - {"files", "text", "folder"}  # one's own
    assert set(licences) == built_in
    assert "PSF-2.0" in regard("data", "list").out


def test_the_licence_of_data_goes_with_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    assert regard("data", "get", "phrases", "-q").code == 0
    assert Path("data/phrases-de-en.licence").read_text() == f"{PHRASES}\n"
    named = ["data.kind=files", "data.train=data/phrases-de-en/train", "data.source=de", "data.target=en"]
    assert regard("train", "gru-additive", *SMALL, *named, *FEW, "--out", "one").code == 0
    Path("own.tsv").write_text("".join(f"{one} {two}\t{two} {one}\n" for one in "abcdefgh" for two in "abcdefgh"))
    assert regard("train", "from=one", "data.train=own.tsv", *FEW, "--out", "two").code == 0
    assert json.loads(Path("one/run.json").read_text())["licence"] == PHRASES
    assert f"licence {PHRASES} (training data)" in " ".join(regard("runs", "show", "one").out.split())
    assert regard("pack", "two", "--out", "slim").code == 0
    facts = json.loads(Path("slim/run.json").read_text())
    assert (facts["licence"], facts["from"]["licence"]) == ("unknown", PHRASES)
    card = Path("slim/README.md").read_text()
    assert f"## Licence\n\n- training data: unknown\n- the run it began from: {PHRASES}\n" in card


def test_what_is_said_beside_a_file_or_above_it(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    one, two, other = tmp_path / "a" / "one.tsv", tmp_path / "a" / "b" / "two.tsv", tmp_path / "other.tsv"
    assert licence_of([str(one), str(two)]) == ""
    state_licence(tmp_path / "a", "MIT\nor so")
    assert licence_of([str(one), str(two)]) == "MIT"
    state_licence(two, "CC0-1.0 \x1b[31m" + "x" * 300)
    assert licence_of([str(two)]).startswith("CC0-1.0  [31mxxx")
    assert len(licence_of([str(two)])) == 200
    assert licence_of([str(one), str(other)]) == "MIT; unknown for some of the files"
    assert licence_of([str(tmp_path / "a" / "some.zip" / "up" / "1.png")]) == "MIT"
