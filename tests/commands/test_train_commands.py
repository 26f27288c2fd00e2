"""regard train: what it says, what it keeps, and how it goes on."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from spoken import TOY, WORDS, Done, end, regard

from regard.datasets.tokenizer.trainer import LEAST
from regard.recipe import recipes
from regard.recipe.read import read
from regard.run import Run
from regard.tasks.translation import Translation

ADAMW = {"kind": "adamw", "learning_rate": 0.02, "beta1": 0.9, "beta2": 0.98, "weight_decay": 0.0001}


def test_train_tells_what_happens_and_what_to_do_next(trained: tuple[Path, Done]) -> None:
    folder, done = trained
    assert done.code == 0, done.err
    assert done.err == ""
    assert re.search(r"^\d+(\.\d+)?k parameters, training for 60 steps \(\d+\.\d epochs\), in", done.out, re.MULTILINE)
    assert (
        "train: 200; 100 % of sources are one sentence\nvalid: 5; scores of so few will be rough\ntest: 30\n"
        in done.out
    )
    assert re.search(r"step 20  validation: loss \d\.\d+  bleu \S+  chrf \S+  best so far", done.out)
    assert re.search(r"step 60/60  loss \d\.\d{3}  [\d,]+ tokens/s  0:00 left", done.out)
    assert re.search(r"step 60  done after 0:\d\d", done.out)
    assert f"Next: regard evaluate {folder}\n" in done.out
    assert f"regard translate {folder} 'your text'\n" in done.out
    assert "\x1b" not in done.out  # no colours and no live line, away from a terminal
    kept = {path.name for path in folder.iterdir()}
    assert {"recipe.toml", "run.json", "log.jsonl", "checkpoints", "best", "last"} < kept
    assert {"tokenizer.json", "translation.json", "shortlist.safetensors"} < kept
    endings = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert endings == {"", ".toml", ".json", ".jsonl", ".safetensors", ".csv", ".png"}


def test_a_run_has_its_whole_recipe(trained: tuple[Path, Done]) -> None:
    recipe = Run.open(trained[0]).recipe
    assert recipe["model"]["source_vocab_size"] == recipe["model"]["target_vocab_size"] == LEAST + 6
    assert recipe["training"]["optimizer"] == ADAMW
    assert recipe["model"]["decoder"]["attention"]["kind"] == "additive"


def test_train_for_machines_is_a_json_line_an_event(tmp_path: Path) -> None:
    done = regard("train", *WORDS, "training.steps=3", "--out", str(tmp_path / "run"), "--json")
    assert (done.code, done.err) == (0, "")
    told = [json.loads(line) for line in done.lines]
    works = [event["work"] for event in told if event["event"] == "at"]
    assert works[0] == "learning the vocabulary"
    events = [event for event in told if event["event"] != "at"]
    assert [event["event"] for event in events] == [
        *("prepared", "started", "step", "step", "step", "validated", "saved", "ended")
    ]
    assert events[0]["splits"]["train"].items() >= {"kept": 200, "left_out": {}, "read": 200, "held_out": 0}.items()
    assert (events[1]["folder"], events[1]["unit"]) == (str(tmp_path / "run"), "tokens")
    assert events[-1] == {"event": "ended", "step": 3, "why": "done", "behind": None}


def test_train_without_a_place_makes_one_and_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("gru-additive", "gru-additive-2"):
        assert f"regard evaluate runs/{name}" in regard("train", *WORDS, "training.steps=1").out
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["gru-additive", "gru-additive-2"]


def test_a_finished_run_resumed_is_finished(run: Path) -> None:
    before = end(run)
    done = regard("train", str(run), "--resume")
    assert (done.code, done.err) == (0, "")
    assert "going on at step 60 of 60 steps" in done.out
    assert end(run) == before


def test_a_damaged_checkpoint_is_told_and_made_good(run: Path) -> None:
    before = end(run)
    newest = run / "checkpoints" / "step-60" / "weights.safetensors"
    newest.write_bytes(newest.read_bytes()[:100])
    done = regard("train", str(run), "--resume")
    assert done.code == 0
    assert f"{newest}: damaged: not what was written; falling back to the checkpoint before it\n" in done.out
    assert "going on at step 40 of 60 steps" in done.out
    assert end(run) == before


def wait_for(there: Path, text: str, process: subprocess.Popen[str]) -> None:
    for _ in range(6000):
        if there.is_file() and text in there.read_text():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    raise AssertionError(f"{there} never said {text}")


def seconds_of(process: int) -> float:
    """How long a process has worked so far, outside the system."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


@pytest.mark.usefixtures("unchecked")
def test_stopped_from_outside_it_saves_says_how_to_go_on_and_ends_the_same(tmp_path: Path) -> None:
    """A real process, by SIGTERM."""
    words = [*WORDS, "model.decoder.attention.kind=none", "training.steps=300", "task.batch_tokens=48"]
    words += ["training.checkpoints.validate_every=150", "model.decoder.dropout=0.1"]
    command = [sys.executable, "-m", "regard", "train", *words, "--out", str(tmp_path / "cut")]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with subprocess.Popen(command, env=environment, **pipes) as process:
        wait_for(tmp_path / "cut" / "log.jsonl", '"step": 20', process)
        worked = seconds_of(process.pid)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    worked = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before - worked
    assert worked < 5  # seconds of its own work: on a machine with nothing else to do, those of the clock
    assert process.returncode == 143
    assert err == ""
    stopped = Run.open(tmp_path / "cut").checkpoints()[0].step
    assert 20 <= stopped < 300
    go_on = f"Stopped at step {stopped} by SIGTERM; all is saved. Go on: regard train {tmp_path / 'cut'} --resume\n"
    assert out.endswith(go_on)
    assert out.count("Stopped") == 1
    torch.set_num_threads(1)
    again = regard("train", str(tmp_path / "cut"), "--resume")
    assert again.code == 0, again.err
    assert f"going on at step {stopped} of 300 steps" in again.out
    assert regard("train", *words, "--out", str(tmp_path / "calm")).code == 0
    assert end(tmp_path / "cut") == end(tmp_path / "calm")


def test_interrupted_before_there_is_anything_to_save_it_says_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Translation, "prepare", lambda *_: os.kill(os.getpid(), signal.SIGINT))
    done = regard("train", *WORDS, "--out", str(tmp_path / "run"))
    assert done.code == 130
    assert "Traceback" not in done.err
    assert not (tmp_path / "run").exists()


SEQ2SEQ = [name for name in recipes() if read(name)["model"]["kind"] == "seq2seq"]
SIZES = {"layers": 1, "hidden": 16, "width": 16}


def smaller(table: dict[str, Any], place: str = "model") -> list[str]:
    """Overrides that make every size of a recipe small."""
    inner = [
        word for key, value in table.items() if isinstance(value, dict) for word in smaller(value, f"{place}.{key}")
    ]
    return [f"{place}.{key}={SIZES[key]}" for key in table if key in SIZES] + inner


def test_there_are_recipes_to_train() -> None:
    assert {"gru-additive", "conv-seq2seq", "transformer-base", "seq2seq-lstm", "lstm-general"} <= set(SEQ2SEQ)


@pytest.mark.parametrize("name", SEQ2SEQ)
def test_every_recipe_that_translates_trains_and_translates(name: str, tmp_path: Path) -> None:
    words = [*TOY, "tokenizer.kind=words", *smaller(read(name)["model"]), "training.steps=2", "task.batch_tokens=256"]
    done = regard("train", name, *words, "--out", str(tmp_path / "run"))
    assert done.code == 0, done.err
    assert "step 2  done" in done.out
    assert len(regard("translate", str(tmp_path / "run"), "a b", "c", "--beam", "2").lines) == 2
