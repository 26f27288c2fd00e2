"""docs/adding-a-task.md, followed to the letter on a copy of the project."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "adding-a-task.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with the page's files added and its lines put into the menus."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("src", "recipes"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for place, code in re.findall(r"`([\w./]+\.(?:py|toml))`:\n\n```(?:python|toml)\n(.*?)```", PAGE, re.DOTALL):
        assert not (copy / place).exists()
        (copy / place).write_text(code, encoding="utf-8")
    patched = re.findall(r"In `(src/\S+\.py)`:\n\n((?:```diff\n.*?```\n\n?)+)", PAGE, re.DOTALL)
    menus = [place for place, _ in patched if place.endswith("/menu.py")]
    assert len(menus) == 4  # a task, a data source, a tokenizer, an optimizer
    assert len(patched) == 4 + 5  # and a verb: its function, what reads a row, the command, the call, the package
    for place, patches in patched:
        file = copy / place
        text, added = file.read_text(encoding="utf-8"), 0
        for patch in re.findall(r"```diff\n(.*?)```", patches, re.DOTALL):
            lines = [line or " " for line in patch.splitlines()]
            before, after = ("".join(line[1:] + "\n" for line in lines if line[0] in f" {sign}") for sign in "-+")
            assert text.count(before) == 1, before
            text = text.replace(before, after)
            added += sum(line[0] == "+" for line in lines)
        assert place not in menus or added == 2  # one import and one entry
        file.write_text(text, encoding="utf-8")
    return copy


def started(copy: Path, *words: str) -> "subprocess.Popen[str]":
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "NO_COLOR": "1", "COLUMNS": "80"}
    environment |= {"REGARD_CACHE": str(copy / "cache"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "regard", *words]
    return subprocess.Popen(
        command, cwd=copy, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(copy: Path, *words: str) -> str:
    process = started(copy, *words)
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, out[-3000:] + err[-3000:]
    return out


def test_it_is_on_the_menu_with_its_options(copy: Path) -> None:
    shown = run(copy, "menu", "task")
    assert "The adding problem" in shown
    assert "batch_rows" in shown


def test_it_is_trained_killed_resumed_evaluated_and_described(copy: Path) -> None:
    """By the ordinary commands; killed without warning, it ends with the same bits."""
    often = ["training.checkpoints.save_every=20"]
    said = run(copy, "train", "adding.toml", *often, "--out", "runs/whole")
    assert "train: 2,000" in said
    assert "rows/s" in said
    process = started(copy, "train", "adding.toml", *often, "--out", "runs/killed")
    while len(list((copy / "runs/killed/checkpoints").glob("step-*[0-9]"))) < 2 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert "going on at step" in run(copy, "train", "runs/killed", "--resume")
    ends = [
        sorted((copy / name / "checkpoints").glob("step-240/weights.safetensors"))
        for name in ("runs/whole", "runs/killed")
    ]
    assert ends[0][0].read_bytes() == ends[1][0].read_bytes()
    found = json.loads(run(copy, "evaluate", "runs/killed", "--json"))
    assert found["loss"] < 0.1  # one that always says 1 has 0.167
    assert "mean squared error" in run(copy, "evaluate", "runs/killed")
    described = json.loads(run(copy, "describe", "runs/killed", "--json"))
    assert described["run"]["task"] == "adding"
    assert "adding.json" in json.loads((copy / "runs/whole/run.json").read_text())["files"]


def test_its_verb_is_a_command_and_a_call_of_the_same_words(copy: Path) -> None:
    row = re.search(r"^regard add runs/adding (\S+)$", PAGE, re.MULTILINE).group(1)
    (found,) = json.loads(run(copy, "add", "runs/whole", row, "--json"))
    assert found["row"] == row
    assert abs(found["sum"] - 0.8) < 0.5  # it has seen few rows
    same = f"assert regard.add('runs/whole', [{row!r}]) == [{found['sum']!r}]"
    code = f"import regard; {same}; regard.add('runs/whole', ['x'])"
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert "InputError: x: wanted numbers with commas" in done.stderr
    process = started(copy, "add", "runs/whole", "1,two*")
    _, err = process.communicate(timeout=100)
    assert process.returncode == 3
    assert err.strip() == "regard: 1,two*: wanted numbers with commas, two of them marked: 0.1,0.5*,0.2,0.3*"


def test_what_belongs_to_other_tasks_is_refused(copy: Path) -> None:
    for key in ("decoding.beam_size=2", "task.label_smoothing=0.1", "data.kind=numbers"):
        process = started(copy, "train", "adding.toml", key, "--out", "runs/refused")
        _, err = process.communicate(timeout=100)
        assert process.returncode == 2
        assert key.partition("=")[0].split(".")[0] in err
        assert not (copy / "runs/refused").exists()


def test_a_data_source_a_tokenizer_and_an_optimizer_are_one_file_and_one_line_each(copy: Path) -> None:
    command = re.search(r"^regard (train numbers-gru .*)$", PAGE, re.MULTILINE).group(1).split()
    run(copy, *command, "training.epochs=2")
    found = json.loads(run(copy, "evaluate", "runs/three", "--json"))
    assert found["pairs"] == 1
    recipe = (copy / "runs/three/recipe.toml").read_text()
    assert 'kind = "palindromes"' in recipe
    assert 'kind = "letters"' in recipe
    assert 'kind = "sgd"' in recipe
