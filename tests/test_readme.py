"""The README tells the truth: its commands, its recipe and its Python run as they stand."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from regard.commands import app
from regard.recipe.read import read

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)
COMMANDS = [line.split("   ")[0] for _, block in BLOCKS for line in block.splitlines() if line.startswith("regard ")]


def run(command: str) -> int:
    try:
        app(shlex.split(command)[1:], standalone_mode=False)
    except SystemExit as stopped:
        return int(stopped.code or 0)
    return 0


@pytest.mark.parametrize("command", [command for command in COMMANDS if " bench " not in command])
def test_a_command_of_the_readme_runs(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command) == 0
    assert len(capsys.readouterr().out) > 100


@pytest.mark.parametrize("command", [command for command in COMMANDS if " bench " in command])
def test_a_benchmark_of_the_readme_exists(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command + " --help") == 0
    assert "Usage" in capsys.readouterr().out


def test_the_recipe_of_the_readme_is_the_one_on_the_shelf() -> None:
    shown = next(block for language, block in BLOCKS if language == "toml")
    assert tomllib.loads(shown)["model"] == read("gpt-window")["model"]


def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    shown = next(block for language, block in BLOCKS if language == "python")
    scope: dict[str, object] = {}
    exec(compile(shown, "README.md", "exec"), scope)
    assert scope["weights"].shape == (1, 1, 10, 1000)
    assert int(capsys.readouterr().out) > 0


def test_the_error_of_the_readme_is_what_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    asked, told = re.search(r"\$ (regard .*)\nregard: (.*)\n", README).groups()
    with pytest.raises(ValueError, match=re.escape(told)):
        run(asked)
