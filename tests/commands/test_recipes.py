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


@pytest.mark.parametrize("name", ["numbers-gru", "transformer-tiny", "gpt2", "vit-tiny"])
def test_what_is_written_down_is_what_the_code_says(name: str) -> None:
    assert _of(name) == kept_figures()[name], "run `make generated`"


@pytest.mark.parametrize("name", ["gpt-char", "text-gpt"])
def test_what_is_learnt_from_the_help_of_python_is_nearly_so(name: str) -> None:
    """Other versions of Python have other words and a few other letters."""
    found, kept = _of(name), kept_figures()[name]
    assert (found.task, found.model) == (kept.task, kept.model) == ("language", "language_model")
    assert found.parameters == pytest.approx(kept.parameters, rel=0.02), "run `make generated`"
    assert found.flops == pytest.approx(kept.flops, rel=0.02), "run `make generated`"
    assert found.tokens == pytest.approx(kept.tokens, rel=0.3), "run `make generated`"


def test_people_see_what_for_how_large_and_how_long() -> None:
    done = regard("recipes")
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.lines)) <= 80
    rows = {line.split()[0]: line for line in done.lines if " parameters" in line and line[2] != " "}
    assert set(rows) == set(recipes())
    assert "about" in rows["numbers-gru"]
    assert rows["transformer-tiny"].endswith("a million tokens")
    assert "about" in rows["gpt-char"]
    assert "124M parameters" in rows["gpt2"]
    assert rows["gpt2"].endswith("a million tokens")
    assert "5.53M parameters" in rows["vit-tiny"]
    assert rows["vit-tiny"].endswith("a thousand images")
    assert "about" in rows["glyphs-vit"]
    titles = ("For language: ", "  gpt2", "For translation: ", "  numbers-gru", "For classification: ", "  vit-tiny")
    places = [done.out.index(said) for said in titles]
    assert places == sorted(places)


def test_machines_get_the_same() -> None:
    found = json.loads(regard("recipes", "--json").out)
    assert list(found) == list(recipes())
    images = found["vit-tiny"]
    assert (images["trainable"], images["task"], images["seconds"]) == (True, "classification", None)
    assert images["seconds_per_thousand_images"] > 0
    assert (found["gpt2"]["trainable"], found["gpt2"]["task"], found["gpt2"]["seconds"]) == (True, "language", None)
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
