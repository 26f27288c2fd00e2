"""A stranger's recipe may ask for anything: what its weights cannot fill is refused before it is built."""

import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from spoken import WORDS, regard
from torch import nn

from regard import trained
from regard.errors import InputError, RecipeError
from regard.model.build import build
from regard.model.describe import describe
from regard.model.weights import shell
from regard.trained import open_run

HUGE = 10**9


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "run"
    assert regard("train", *WORDS, "training.steps=2", "--out", str(folder)).code == 0
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


def change(run: Path, key: str, value: Any) -> None:
    table = tomllib.loads((run / "recipe.toml").read_text())
    *above, last = key.split(".")
    inner = table
    for step in above:
        inner = inner[step]
    inner[last] = value
    (run / "recipe.toml").write_text(tomli_w.dumps(table))


def whole_numbers(table: dict[str, Any], above: str = "") -> list[str]:
    """The keys of all whole numbers of a recipe."""
    found = []
    for key, value in table.items():
        if isinstance(value, dict):
            found += whole_numbers(value, f"{above}{key}.")
        elif isinstance(value, int) and not isinstance(value, bool):
            found.append(above + key)
    return found


@pytest.mark.parametrize("value", [HUGE, 10**18, 2 * 10**18, -1, "many", [1], {"kind": [1]}], ids=str)
def test_no_number_of_a_model_is_taken_on_trust(run: Path, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a number means, it is refused at once, and nothing of that size is ever built."""
    monkeypatch.setattr(trained, "load", lambda *_: pytest.fail("a model was loaded"))
    recipe = (run / "recipe.toml").read_text()
    keys = [key for key in whole_numbers(tomllib.loads(recipe)) if key.startswith("model.")]
    assert len(keys) > 5
    for key in keys:
        change(run, key, value)
        with pytest.raises((RecipeError, InputError)) as told:
            open_run(run)
        assert len(str(told.value).splitlines()) <= 2
        (run / "recipe.toml").write_text(recipe)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *((("decoding.beam_size", HUGE)), ("decoding.length_penalty", 1e308), ("decoding.length_penalty", -1e5)),
        *(("decoding.n_best", HUGE), ("decoding.kind", [1]), ("decoding.length_penalty", float("inf"))),
    ],
    ids=str,
)
def test_no_number_of_a_search_is_taken_on_trust(run: Path, key: str, value: Any) -> None:
    change(run, key, value)
    with pytest.raises((RecipeError, InputError)):
        open_run(run)


def test_many_layers_are_not_begun(run: Path) -> None:
    """Fewer than there are weights, and far more than there are tensors."""
    change(run, "model.encoder.layers", 60_000)
    with pytest.raises(RecipeError, match="tensors"):
        open_run(run)


@pytest.mark.parametrize("key", ["width=1000000002", "width=1000000000000000000", "vocab_size=1000000000000"])
def test_absurd_numbers_are_refused_wherever_they_are_said(key: str) -> None:
    for make in (describe, build):
        with pytest.raises(RecipeError, match=f"model.{key.partition('=')[0]}: given .* is the most$"):
            make("gpt-char", f"model.{key}")


def test_no_more_tensors_are_made_than_there_are() -> None:
    with pytest.raises(RecipeError, match="of more than 3 tensors"):
        shell(lambda: build("gpt-char"), 3)


def test_parts_without_tensors_are_counted_too() -> None:
    with pytest.raises(RecipeError, match="of more than 3 tensors"):
        shell(lambda: nn.ModuleList(nn.Identity() for _ in range(100)), 3)
