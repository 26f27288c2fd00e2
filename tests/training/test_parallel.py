"""Two processes learn what one does, and go on with what the other began."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from toyruns import tensors

from regard.data.batches import Batches
from regard.runs import FILES, Run
from regard.training.learner import Step
from regard.training.loop import Event, Stop
from regard.training.train import training

DATA = ["data.kind=toy", "data.letters=6", "data.longest=4", "data.train=90", "data.valid=4", "data.test=4"]
SMALL = ["tokens.kind=words", "model.width=16", "model.encoder.dropout=0.0", "model.decoder.dropout=0.0"]
LONG = ["training.steps=20", "training.validate_every=10", "training.keep=9", "training.schedule.warmup=0"]
USUAL = [*DATA, *SMALL, *LONG, "training.average=0.5", "training.accumulate=2"]

pytestmark = pytest.mark.slow  # two processes that start torch on two busy cores


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


def two(*words: str) -> str:
    """What two processes said."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "regard"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    done = subprocess.run([*command, "train", *words], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def one(*words: str, out: Path, resume: bool = False, last: int = 1000) -> list[Event]:
    stop, seen = Stop(), []
    for event in training(*words, out=out, resume=resume, stop=stop):
        seen.append(event)
        stop.asked = isinstance(event, Step) and event.number == last
    return seen


def losses(folder: Path) -> dict[int, float]:
    return {entry["step"]: entry["loss"] for entry in Run.open(folder).history() if "loss" in entry}


def alike(folder: Path, other: Path) -> None:
    """Everything in the last checkpoint, weights and state, and every loss on the way."""
    assert losses(folder) == pytest.approx(losses(other), rel=1e-4)
    assert set(losses(folder)) == {10, 20}
    for file in FILES:
        mine, others = tensors(folder, file, step=20), tensors(other, file, step=20)
        assert mine.keys() == others.keys()
        for name, tensor in mine.items():
            torch.testing.assert_close(
                tensor, others[name], rtol=1e-4, atol=1e-4, msg=lambda said, n=name: f"{n}: {said}"
            )


def test_with_ddp_two_processes_learn_what_one_does_and_one_goes_on_from_two(tmp_path: Path) -> None:
    """Some batches have a single row, of which the second process gets none."""
    words = ["gru-additive", *USUAL, "training.batch_tokens=9"]
    said = two(*words, "--out", str(tmp_path / "two"))
    assert said.count("training for 20 steps") == 1
    one(*words, out=tmp_path / "one")
    alike(tmp_path / "two", tmp_path / "one")
    moved = tensors(tmp_path / "two", step=10)["head.weight"] - tensors(tmp_path / "two", step=20)["head.weight"]
    assert moved.abs().max() > 0.001  # or nothing would be shown
    shutil.rmtree(tmp_path / "two" / "checkpoints" / "step-20")
    events = one(*words, out=tmp_path / "two", resume=True)
    assert sum(isinstance(event, Step) for event in events) == 10
    alike(tmp_path / "two", tmp_path / "one")


def test_with_fsdp_two_processes_go_on_from_one_and_end_as_one_does(tmp_path: Path) -> None:
    words = [
        "transformer-tiny",
        *USUAL,
        "training.batch_tokens=48",
        "model.encoder.layers=1",
        "model.decoder.layers=1",
        "training.optimizer.kind=muon",
    ]
    one(*words, out=tmp_path / "one")
    one(*words, out=tmp_path / "two", last=10)
    said = two(*words, "training.parallel=fsdp", "--resume", "--out", str(tmp_path / "two"))
    assert "going on at step 10 of 20 steps" in said
    alike(tmp_path / "two", tmp_path / "one")


def test_batches_of_a_single_row_are_among_those_shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the first test claims about its data."""
    sizes: list[int] = []
    plain = Batches.__getitem__

    def seen(self: Batches, step: int) -> object:
        batch = plain(self, step)
        sizes.append(len(batch.source))
        return batch

    monkeypatch.setattr(Batches, "__getitem__", seen)
    one("gru-additive", *USUAL, "training.batch_tokens=9", out=tmp_path / "one", last=5)
    assert min(sizes) == 1
    assert max(sizes) > 1
