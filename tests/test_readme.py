"""The README tells the truth: its commands, its recipe and its Python run as they stand, one after another."""

import re
import tomllib
from pathlib import Path

import pytest
from following import README, blocks, follow
from spoken import regard

from regard.recipe.read import read
from regard.run import Run

TEXT = README.read_text(encoding="utf-8")


def test_all_commands_can_be_pasted_one_after_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder, after the demo."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    for name in ("numbers-gru", "numbers-transformer", "text-gpt"):
        assert regard("train", name, "training.steps=2", "--out", f"out/demo/{name}").code == 0
        Run.open(Path(f"out/demo/{name}")).note(commands=["regard demo --out out/demo"])  # a demo goes on with its own
    assert follow(README, tmp_path) >= 20
    assert {path.name for path in Path("runs").iterdir()} >= {"fixed", "mine", "additive", "dot", "readme"}


def test_the_first_lines_are_the_two_that_set_everything_up() -> None:
    kind, first = blocks(README)[0]
    assert (kind, [line.split("  ")[0] for line in first.splitlines()[:2]]) == (
        "sh",
        ["make demo", "source .venv/bin/activate"],
    )


def test_the_recipe_of_the_readme_is_the_one_on_the_shelf() -> None:
    shown = next(block for language, block in blocks(README) if language == "toml")
    assert tomllib.loads(shown) == {key: value for key, value in read("gpt-window").items() if key != "about"}


def test_the_error_of_the_readme_is_what_is_said() -> None:
    found = re.search(r"\$ regard (.*)\n(regard: .*\n)", TEXT)
    assert found is not None
    assert regard(*found[1].split()).err == found[2]


def test_pages_and_pictures_that_are_named_are_there() -> None:
    for page in (README, *(README.parent / "docs").glob("*.md")):
        for name in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / name).exists(), f"{page.name}: {name}"
