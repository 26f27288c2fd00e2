"""The README tells the truth: its commands, its recipe and its Python run as they stand."""

import gzip
import re
import shlex
import tomllib
from itertools import islice
from pathlib import Path

import pytest

from regard.commands import app
from regard.datasets.numbers import Numbers
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


TRAINED = [command for command in COMMANDS if re.search(r" (train|evaluate|translate) ", command)]


@pytest.mark.parametrize("command", [c for c in COMMANDS if " bench " not in c and c not in TRAINED])
def test_a_command_of_the_readme_runs(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command) == 0
    assert len(capsys.readouterr().out) > 100


def test_the_readme_trains_a_translator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All its commands about training, one after another, in an empty folder with the files it speaks of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    pairs = list(islice(Numbers(upto=9999, train=300).read("train"), 300))
    for side, ending in enumerate(("de", "en")):
        Path(f"corpus.{ending}").write_text("".join(pair[side] + "\n" for pair in pairs), encoding="utf-8")
    table = "".join(f"{source}\t{target}\n" for source, target in pairs).encode()
    Path("pairs.tsv.gz").write_bytes(gzip.compress(table))
    Path("dev.tsv").write_bytes(table[:2000])
    Path("in.txt").write_text("Guten Abend.\n\nneunundneunzig\n", encoding="utf-8")
    assert len(TRAINED) == 8
    for command in TRAINED:
        few = " data.train=300 data.valid=20 data.test=20" if " data.kind=" in command else ""
        assert run(command + (f" training.steps=2{few}" if " train " in command else "")) == 0, command
    assert len(list((tmp_path / "runs").iterdir())) == 3


@pytest.mark.parametrize("command", [command for command in COMMANDS if " bench " in command])
def test_a_benchmark_of_the_readme_exists(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command + " --help") == 0
    assert "Usage" in capsys.readouterr().out


def test_the_recipe_of_the_readme_is_the_one_on_the_shelf() -> None:
    shown = next(block for language, block in BLOCKS if language == "toml")
    assert tomllib.loads(shown)["model"] == read("gpt-window")["model"]


def test_the_python_of_the_readme_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    shown = next(block for language, block in BLOCKS if language == "python")
    scope: dict[str, object] = {}
    exec(compile(shown, "README.md", "exec"), scope)
    assert scope["weights"].shape == (1, 1, 10, 1000)
    translated, kept = capsys.readouterr().out.splitlines()[-2:]
    assert translated
    assert int(kept) > 0


def test_the_error_of_the_readme_is_what_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    asked, told = re.search(r"\$ (regard .*)\nregard: (.*)\n", README).groups()
    with pytest.raises(ValueError, match=re.escape(told)):
        run(asked)
