"""regard recipes: what each is for, how large, how long it takes here, and what cannot be trained yet."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from spoken import regard

from regard.commands.recipe_figures import _of, kept_figures
from regard.measuring import speed
from regard.recipe import recipes


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    monkeypatch.setattr(speed, "_measured", lambda: 1e11)


def test_every_recipe_is_reckoned() -> None:
    assert set(kept_figures()) == set(recipes()), "run `make generated`"


@pytest.mark.parametrize("name", ["numbers-gru", "transformer-tiny", "gpt-char", "vit-tiny"])
def test_what_is_written_down_is_what_the_code_says(name: str) -> None:
    assert _of(name) == kept_figures()[name], "run `make generated`"


def test_people_see_what_for_how_large_and_how_long() -> None:
    done = regard("recipes")
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.lines)) <= 80
    rows = {line.split()[0]: line for line in done.lines if " parameters" in line and line[2] != " "}
    assert set(rows) == set(recipes())
    assert "about" in rows["numbers-gru"]
    assert rows["transformer-tiny"].endswith("a million tokens")
    assert rows["gpt2"].endswith("124M parameters")
    places = [done.out.index(said) for said in ("For translation:", "  numbers-gru", "Language models: ", "  gpt2")]
    assert places == sorted(places)
    assert "no task trains them yet" in done.out


def test_machines_get_the_same() -> None:
    found = json.loads(regard("recipes", "--json").out)
    assert list(found) == list(recipes())
    assert (found["gpt2"]["trainable"], found["gpt2"]["task"]) == (False, None)
    numbers = found["numbers-gru"]
    assert (numbers["trainable"], numbers["task"], numbers["parameters"]) == (True, "translation", 280_867)
    known = kept_figures()["numbers-gru"]
    assert numbers["seconds"] == pytest.approx(known.flops * known.tokens / (speed.SHARE * 1e11))
    assert found["transformer-tiny"]["seconds"] is None


def test_the_best_speed_that_was_seen_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert speed.machine_speed() == 1e11
    monkeypatch.setattr(speed, "_measured", lambda: 1e10)  # others are at work
    assert speed.machine_speed() == 1e11
    monkeypatch.setattr(speed, "_measured", lambda: 2e11)
    assert speed.machine_speed() == 2e11


def test_it_needs_no_torch() -> None:
    code = "import sys; from regard.commands.recipes import recipes; recipes(); assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0
