"""docs/extend.md, followed to the letter: its files, its script, its commands one after another, its message."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands.spoken import regard
from plugged import bare_menu, take_off

import regard as library

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
FILES = re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
SOURCES = Path(library.__file__).parents[1]


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path_factory.mktemp("cache")))
    with bare_menu():
        yield


def test_the_files_shown_are_those_of_the_examples() -> None:
    assert [name for name, _ in FILES] == ["own_attention.py", "own_parts.py"]
    for name, shown in FILES:
        assert shown == (ROOT / "docs" / "examples" / name).read_text(encoding="utf-8")
    assert sum(bool(line.strip()) for line in FILES[0][1].splitlines()) < 36


def test_the_script_trains_compares_and_draws_without_a_warning(tmp_path: Path) -> None:
    assert "python own_attention.py" in COMMANDS
    shutil.copy(ROOT / "docs" / "examples" / "own_attention.py", tmp_path)
    environment = os.environ | {"PYTHONPATH": str(SOURCES), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", "own_attention.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n")[0].split() == ["additive", "cosine"]
    assert "bits per byte" in done.stdout
    for picture in ("bleu.png", "curves.png"):
        assert (tmp_path / "out/own-attention" / picture).read_bytes()[:4] == b"\x89PNG"


def test_the_examples_satisfy_a_strict_type_checker(tmp_path: Path) -> None:
    """As a user would run it on files of their own: the package's real signatures, no settings of the project."""
    for name, code in FILES:
        (tmp_path / name).write_text(code, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(
        "import regard\n"
        "regard.train(5)\n"
        "regard.evaluate('run').nothing\n"
        "regard.trian\n"
        "reveal_type(regard.train('x').curve()[0])\n"
        "reveal_type(regard.runs())\n"
    )
    environment = os.environ | {"MYPYPATH": str(SOURCES)}
    options = ["--strict", "--config-file=", "--cache-dir", str(tmp_path / "cache"), "--follow-imports=silent"]
    command = [sys.executable, "-m", "mypy", *options, *(name for name, _ in FILES), "wrong.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    told = done.stdout.splitlines()
    assert [line for line in told if line.startswith("own_")] == [], done.stdout
    said = [line for line in told if line.startswith("wrong.py")]
    assert 'wrong.py:2: error: Argument 1 to "train" has incompatible type "int"' in said[0]
    assert '"Evaluation" has no attribute "nothing"' in said[1]
    assert 'Module has no attribute "trian"' in said[2]
    assert 'Revealed type is "dict[str, int | float]"' in said[3].replace("builtins.", "")
    assert "regard.calls.runs.RunList" in said[4]


def test_the_commands_run_one_after_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, code in FILES:
        (tmp_path / name).write_text(code, encoding="utf-8")
    few = " data.upto=99 data.train=50 data.valid=5 data.test=5"
    assert len(COMMANDS) == 13
    for command in COMMANDS:
        take_off()  # every command is a process of its own
        verb, *words = shlex.split(command + (few if " train numbers-gru model" in command else ""))
        if verb == "export":
            monkeypatch.setenv(*words[0].split("=", 1))
        elif verb == "unset":
            monkeypatch.delenv(words[0])
        elif verb == "regard":
            done = regard(*words)
            assert done.code == 0, (command, done.err)
    take_off()
    asked, told = re.search(r"\$ regard (.*)\nregard: (.*)\n", PAGE).groups()  # type: ignore[union-attr]
    assert regard(*shlex.split(asked)).err == f"regard: {told}\n"


def test_what_the_page_says_of_packages_and_tasks_is_true() -> None:
    shown = tomllib.loads(re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL).group(1))  # type: ignore[union-attr]
    from regard.recipe.plugins import GROUP

    assert list(shown["project"]["entry-points"]) == [GROUP]
    for name in re.findall(r"\]\(([\w./-]+)\)", PAGE):
        assert (ROOT / "docs" / name).exists(), name
    assert "class Adding(Task)" in (ROOT / "docs" / "adding-a-task.md").read_text(encoding="utf-8")
