"""docs/adding-a-task.md, followed to the letter on a copy of the project."""

import json
import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from copied import CopiedProject

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "adding-a-task.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CopiedProject]:
    """The project with the page's files added and its lines put into the menus."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("src", "recipes"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for place, code in re.findall(r"`([\w./]+\.(?:py|toml))`:\n\n```(?:python|toml)\n(.*?)```", PAGE, re.DOTALL):
        assert not (folder / place).exists()
        (folder / place).write_text(code, encoding="utf-8")
    patched = re.findall(r"In `(src/\S+\.py)`:\n\n((?:```diff\n.*?```\n\n?)+)", PAGE, re.DOTALL)
    menus = [place for place, _ in patched if place.endswith("/menu.py")]
    assert len(menus) == 4  # a task, a data source, a tokenizer, an optimizer
    assert len(patched) == 4 + 5  # and a verb: its function, what reads a row, the command, the call, the package
    for place, patches in patched:
        file = folder / place
        text, added = file.read_text(encoding="utf-8"), 0
        for patch in re.findall(r"```diff\n(.*?)```", patches, re.DOTALL):
            lines = [line or " " for line in patch.splitlines()]
            before, after = ("".join(line[1:] + "\n" for line in lines if line[0] in f" {sign}") for sign in "-+")
            assert text.count(before) == 1, before
            text = text.replace(before, after)
            added += sum(line[0] == "+" for line in lines)
        assert place not in menus or added == 2  # one import and one entry
        file.write_text(text, encoding="utf-8")
    project = CopiedProject(folder)
    yield project
    project.close()


def test_it_is_on_the_menu_with_its_options(copy: CopiedProject) -> None:
    shown = copy.run("menu", "task")
    assert "The adding problem" in shown
    assert "batch_rows" in shown


def test_it_is_trained_killed_resumed_evaluated_and_described(copy: CopiedProject) -> None:
    """By the ordinary commands; killed without warning, it ends with the same bits."""
    often = ["training.checkpoints.save_every=20"]
    said = copy.run("train", "adding.toml", *often, "--out", "runs/whole")
    assert "train: 2,000" in said
    assert "rows/s" in said
    process = copy.start("-m", "regard", "train", "adding.toml", *often, "--out", "runs/killed")
    while len(list((copy.folder / "runs/killed/checkpoints").glob("step-*[0-9]"))) < 2 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert "going on at step" in copy.run("train", "runs/killed", "--resume")
    ends = [
        sorted((copy.folder / name / "checkpoints").glob("step-240/weights.safetensors"))
        for name in ("runs/whole", "runs/killed")
    ]
    assert ends[0][0].read_bytes() == ends[1][0].read_bytes()
    found = json.loads(copy.run("evaluate", "runs/killed", "--json"))
    assert found["loss"] < 0.1  # one that always says 1 has 0.167
    assert "mean squared error" in copy.run("evaluate", "runs/killed")
    described = json.loads(copy.run("describe", "runs/killed", "--json"))
    assert described["run"]["task"] == "adding"
    assert "adding.json" in json.loads((copy.folder / "runs/whole/run.json").read_text())["files"]


def test_its_verb_is_a_command_and_a_call_of_the_same_words(copy: CopiedProject) -> None:
    row = re.search(r"^regard add runs/adding (\S+)$", PAGE, re.MULTILINE).group(1)
    (found,) = json.loads(copy.run("add", "runs/whole", row, "--json"))
    assert found["row"] == row
    assert abs(found["sum"] - 0.8) < 0.5  # it has seen few rows
    same = f"assert regard.add('runs/whole', [{row!r}]) == [{found['sum']!r}]"
    code = f"import regard; {same}; regard.add('runs/whole', ['x'])"
    _, err = copy.start("-c", code).communicate(timeout=200)
    assert "InputError: x: wanted numbers with commas" in err
    done = copy.regard("add", "runs/whole", "1,two*")
    assert done.code == 3
    assert done.err.strip() == "regard: 1,two*: wanted numbers with commas, two of them marked: 0.1,0.5*,0.2,0.3*"


def test_what_belongs_to_other_tasks_is_refused(copy: CopiedProject) -> None:
    for key in ("decoding.beam_size=2", "task.label_smoothing=0.1", "data.kind=numbers"):
        done = copy.regard("train", "adding.toml", key, "--out", "runs/refused")
        assert done.code == 2
        assert key.partition("=")[0].split(".")[0] in done.err
        assert not (copy.folder / "runs/refused").exists()


def test_a_data_source_a_tokenizer_and_an_optimizer_are_one_file_and_one_line_each(copy: CopiedProject) -> None:
    command = re.search(r"^regard (train numbers-gru .*)$", PAGE, re.MULTILINE).group(1).split()
    copy.run(*command, "training.epochs=2")
    found = json.loads(copy.run("evaluate", "runs/three", "--json"))
    assert found["pairs"] == 1
    recipe = (copy.folder / "runs/three/recipe.toml").read_text()
    assert 'kind = "palindromes"' in recipe
    assert 'kind = "letters"' in recipe
    assert 'kind = "sgd"' in recipe
