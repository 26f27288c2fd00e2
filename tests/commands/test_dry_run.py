"""regard train --dry-run: what would be trained, in a terminal of 80 columns and for machines."""

import json
from pathlib import Path

import pytest
from spoken import WORDS, refused, regard


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("regard.training.rehearsal.MOST", 4)
    return tmp_path


def test_it_says_what_would_be_and_leaves_nothing(here: Path) -> None:
    done = regard("train", *WORDS, "training.steps=500", "--dry-run")
    assert (done.code, done.err) == (0, "")
    rows = {line[:10].strip(): line[12:].strip() for line in done.lines if line[:10].strip()}
    assert rows["task"] == "translation, recipe gru-additive, in runs/gru-additive"
    assert (rows["train data"], rows["test data"]) == ("200; 100 % of sources are one sentence", "30")
    assert rows["model"].startswith("seq2seq, ")
    assert rows["steps"].startswith("500 (")
    assert rows["time here"].startswith("about ")
    assert rows["memory"].startswith("about ")
    assert done.lines[-1] == "Nothing was trained or kept."
    assert max(map(len, done.lines)) <= 80
    assert list(here.iterdir()) == []


def test_machines_get_the_same(here: Path) -> None:
    done = regard("train", *WORDS, "training.steps=500", "--dry-run", "--json", "--out", "somewhere/new")
    found = json.loads(done.out)
    assert (found["folder"], found["steps"], found["splits"]["train"]["kept"]) == ("somewhere/new", 500, 200)
    assert found["seconds"] > 0
    parts = ("weights", "gradients", "optimizer", "activations", "process")
    assert found["memory"]["total"] == sum(found["memory"][part] for part in parts)
    assert list(here.iterdir()) == []


def test_what_training_would_refuse_is_refused(run: Path) -> None:
    refused(3, "there is a run already; go on with --resume, or begin from it", "train", str(run), "--dry-run")
    refused(3, "a folder of its own", "train", *WORDS, "--dry-run", "--out", str(run.parent))
    before = sorted((path, path.stat().st_mtime_ns) for path in run.rglob("*"))
    done = regard("train", str(run), "--resume", "training.steps=90", "--dry-run")
    assert done.code == 0
    assert "of which 60 are done" in done.out
    assert sorted((path, path.stat().st_mtime_ns) for path in run.rglob("*")) == before
