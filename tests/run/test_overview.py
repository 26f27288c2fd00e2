"""Runs in a list: whatever state a folder is in, it is told, and nothing is removed that is no run."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.errors import InputError
from regard.run import Run
from regard.run.overview import Overview, overview, remove_run, runs

RECIPE = {"name": "small", "task": {"kind": "translation"}, "training": {"checkpoints": {"best_by": "bleu"}}}
MORE = {"steps": 100, "parameters": 12, "commands": ["regard train small"]}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", os.fstat)  # nobody pulls the plug here


def made(folder: Path, saved: bool = True, **facts: Any) -> Run:
    run = Run.create(folder, RECIPE, {}, "abc", MORE | facts)
    if saved:
        progress = {"scores": {"loss": 1.5, "bleu": 31.42}}
        run.save(40, {"w": torch.ones(3)}, {"m": torch.ones(3)}, progress, keep=2)
        run.point("best", "step-40")
        run.log({"step": 40, "loss": 1.6})
    return run


def noted(**facts: Any) -> Callable[[Run], None]:
    return lambda run: run.note(**facts)


def spoilt(name: str, text: str) -> Callable[[Run], None]:
    return lambda run: (run.folder / name).write_text(text) and None


STATES: dict[str, tuple[str, Callable[[Run], object]]] = {
    "stopped": ("stopped", noted(ended="stopped")),
    "killed": ("stopped", lambda run: None),
    "done": ("done", noted(ended="done")),
    "patience": ("patience", noted(ended="patience")),
    "diverged": ("diverged", noted(ended="diverged", diverged=41)),
    "packed": ("packed", noted(packed=40)),
    "no facts": ("damaged", spoilt("run.json", "{")),
    "an old format": ("damaged", spoilt("run.json", '{"format": 0}')),
    "odd facts": ("damaged", spoilt("run.json", '{"format": 1, "steps": "many"}')),
    "odd recipe": ("damaged", spoilt("recipe.toml", "= =")),
    "a manifest of another form": ("damaged", spoilt("checkpoints/step-40/manifest.json", "[]")),
    "checkpoints gone": ("damaged", lambda run: shutil.rmtree(run.folder / "checkpoints")),
    "weights gone": ("damaged", lambda run: (run.folder / "checkpoints/step-40/weights.safetensors").unlink()),
}


@pytest.mark.parametrize("kind", STATES)
def test_a_run_of_any_state_is_listed(kind: str, tmp_path: Path) -> None:
    state, change = STATES[kind]
    change(made(tmp_path / "one"))
    (found,) = runs(tmp_path)
    assert (found.folder, found.state) == (tmp_path / "one", state)
    assert found.bytes > 50
    if state == "damaged":
        assert found.said
    else:
        assert (found.task, found.name, found.step, found.steps, found.best) == (
            "translation",
            "small",
            40,
            100,
            "bleu 31.42",
        )
    assert json.dumps(found.scores)
    remove_run(found.folder)
    assert not found.folder.exists()


@pytest.mark.parametrize("name", ["weights.safetensors", "state.safetensors"])
def test_a_checkpoint_that_was_cut_or_changed_is_told(tmp_path: Path, name: str) -> None:
    """Lengths are looked at for a list; what was changed inside is found where one run is looked at closely."""
    run = made(tmp_path / "one", ended="done")
    run.save(80, {"w": torch.zeros(3)}, {"m": torch.ones(3)}, {"scores": {}}, keep=2)
    file = run.folder / "checkpoints" / "step-80" / name
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert overview(run.folder).state == "done"
    found = overview(run.folder, thorough=True)
    wrong = f"{file}: damaged: not what was written"
    assert (found.state, found.said) == ("damaged", f"{wrong}; step 40 is whole")
    file.write_bytes(whole[:-1])
    found = overview(run.folder)
    assert (found.state, found.said) == ("damaged", f"{wrong}; step 40 is whole")
    assert (found.best, found.step) == ("bleu 31.42", 80)
    best = run.folder / "checkpoints" / "step-40" / name
    best.write_bytes(best.read_bytes()[:50])
    assert overview(run.folder).said == f"{best}: damaged: not what was written; no checkpoint is whole"


def test_a_run_that_has_not_begun_is_none_of_these(tmp_path: Path) -> None:
    assert overview(made(tmp_path / "one", saved=False).folder).state == "not begun"


def test_a_run_in_which_somebody_trains_says_so_and_stays(tmp_path: Path) -> None:
    run = made(tmp_path / "one")
    holder = (
        "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.flock(file, 2); print('held', flush=True); input()"
    )
    command = [sys.executable, "-c", holder, str(run.folder / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert overview(run.folder).state == "training"
        with pytest.raises(InputError, match="another process is training in it; wait for it, or stop it"):
            remove_run(run.folder)
        process.communicate("\n")
    assert overview(run.folder).state == "stopped"


def test_runs_are_found_a_little_below_and_the_last_changed_first(tmp_path: Path) -> None:
    for age, name in enumerate(("a", "deep/er/b", "deep/er/too/far/c")):
        run = made(tmp_path / name)
        for path in run.folder.rglob("*"):
            os.utime(path, (1e9 + age, 1e9 + age))
    made(tmp_path / "a" / "inside")  # nothing below a run is one
    os.utime(tmp_path / "a" / "recipe.toml", (1e9, 1e9))
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "empty").mkdir()
    found = runs(tmp_path)
    assert [one.folder.relative_to(tmp_path).as_posix() for one in found] == ["a", "deep/er/b"]
    assert found[1].age.endswith(" d")


@pytest.mark.parametrize(
    ("seconds", "said"), [(-5, "0 s"), (59, "59 s"), (60, "1 min"), (3599, "60 min"), (7200, "2 h"), (3 * 86400, "3 d")]
)
def test_the_age_of_a_run_is_said_in_one_unit(seconds: float, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1e9)
    assert Overview(Path("run"), "run", "done", changed=1e9 - seconds).age == said


@pytest.mark.parametrize("kind", ["nothing", "a folder", "a file", "only a recipe", "a link"])
def test_what_is_no_run_is_not_removed(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "one"
    if kind == "a file":
        folder.write_text("mine")
    elif kind == "a link":
        folder.symlink_to(made(tmp_path / "other").folder)
    elif kind != "nothing":
        folder.mkdir()
        (folder / ("recipe.toml" if kind == "only a recipe" else "mine.txt")).write_text("name = 'mine'\n")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="a link; name the run itself" if kind == "a link" else "nothing was removed"):
        remove_run(folder)
    assert sorted(tmp_path.rglob("*")) == before


def test_links_inside_a_run_are_removed_and_not_followed(tmp_path: Path) -> None:
    run, outside = made(tmp_path / "one"), tmp_path / "precious"
    outside.mkdir()
    (outside / "file").write_text("mine")
    (run.folder / "link").symlink_to(outside)
    assert remove_run(run.folder).folder == run.folder
    assert (outside / "file").read_text() == "mine"


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: no such folder; name one that holds runs"):
        runs(tmp_path / "nowhere")
    assert runs(tmp_path) == []


def test_a_run_with_folders_without_end_in_it_hides_no_other_and_can_be_removed(tmp_path: Path) -> None:
    made(tmp_path / "good")
    bad = made(tmp_path / "bad").folder
    here = os.open(bad, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("d" * 9, dir_fd=here)
        deeper = os.open("d" * 9, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    assert {one.folder.name for one in runs(tmp_path)} == {"good", "bad"}
    remove_run(bad)
    assert {path.name for path in tmp_path.iterdir()} == {"good"}
