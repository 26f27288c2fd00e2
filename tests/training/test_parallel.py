"""Two processes learn what one does, and go on with what the other began."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from toyruns import FILES, tensors

from regard.errors import FailedError, RecipeError
from regard.run import Run
from regard.tasks.translation.batches import PairBatches
from regard.training.events import Event, Step
from regard.training.parallel import processes
from regard.training.stop import Stop
from regard.training.train import training

DATA = ["data.kind=toy", "data.letters=6", "data.max_length=4", "data.train=90", "data.valid=4", "data.test=4"]
SMALL = ["tokenizer.kind=words", "model.width=16", "model.encoder.dropout=0.0", "model.decoder.dropout=0.0"]
LONG = ["training.steps=20", "training.checkpoints.validate_every=10", "training.checkpoints.keep=9"]
LONG += ["training.schedule.warmup_steps=0"]
USUAL = [*DATA, *SMALL, *LONG, "training.ema=0.5", "training.accumulate=2"]

slow = pytest.mark.slow  # whole runs, in processes that start torch anew


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


def two(*words: str) -> str:
    """What two processes said."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    done = subprocess.run([*command, *words], capture_output=True, text=True, env=environment, check=False)
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


@pytest.mark.parametrize("how", ["plain", pytest.param("traced", marks=slow)])
def test_every_stack_learns_in_two_processes_what_it_learns_in_one(how: str, tmp_path: Path) -> None:
    """With DDP and with FSDP2; one start of torch for all of them."""
    two(str(Path(__file__).with_name("two_processes.py")), str(tmp_path / "found.json"), how)
    found = json.loads((tmp_path / "found.json").read_text())
    assert len(found) >= 16
    wrong = {name: off for name, off in found.items() if isinstance(off, str) or off > 1e-5}
    assert not wrong


@slow
def test_with_ddp_two_processes_learn_what_one_does_and_one_goes_on_from_two(tmp_path: Path) -> None:
    """Some batches have a single row, of which the second process gets none."""
    words = ["gru-additive", *USUAL, "task.batch_tokens=9"]
    said = two("-m", "regard", "train", *words, "--out", str(tmp_path / "two"))
    assert said.count("training for 20 steps") == 1
    one(*words, out=tmp_path / "one")
    alike(tmp_path / "two", tmp_path / "one")
    moved = tensors(tmp_path / "two", step=10)["head.weight"] - tensors(tmp_path / "two", step=20)["head.weight"]
    assert moved.abs().max() > 0.001  # or nothing would be shown
    shutil.rmtree(tmp_path / "two" / "checkpoints" / "step-20")
    events = one(*words, out=tmp_path / "two", resume=True)
    assert sum(isinstance(event, Step) for event in events) == 10
    alike(tmp_path / "two", tmp_path / "one")


def test_what_is_carried_from_window_to_window_is_shared_out_and_gathered(tmp_path: Path) -> None:
    """One process begins and two go on: all as if one had done it alone."""
    text = tmp_path / "text.txt"
    text.write_text("".join(f"The {n % 7}th fox says {n * n}: yes, no or ö?\n" for n in range(300)))
    carried = ["task.kind=language", "task.carry_state=true", "task.context=12", "task.batch_tokens=60"]
    words = ["lstm-lm", f"data.train={text}", *carried, "model.width=16", "model.decoder.dropout=0.0", *LONG]
    one(*words, out=tmp_path / "one")
    one(*words, out=tmp_path / "two", last=5)
    two("-m", "regard", "train", *words, "--resume", "--out", str(tmp_path / "two"))
    mine, others = tensors(tmp_path / "two", FILES[1], step=20), tensors(tmp_path / "one", FILES[1], step=20)
    rows = [name for name in mine if name.startswith("carried/")]
    assert {len(mine[name]) for name in rows} == {5}
    for name in rows:
        assert mine[name].abs().max() > 0.001
        torch.testing.assert_close(mine[name], others[name], rtol=1e-3, atol=1e-4)


@slow
def test_with_fsdp_two_processes_go_on_from_one_and_end_as_one_does(tmp_path: Path) -> None:
    words = [
        "transformer-tiny",
        *USUAL,
        "task.batch_tokens=48",
        "model.encoder.layers=1",
        "model.decoder.layers=1",
        "training.optimizer.kind=muon",
    ]
    one(*words, out=tmp_path / "one")
    one(*words, out=tmp_path / "two", last=10)
    said = two(
        "-m", "regard", "train", *words, "training.machine.parallel=fsdp", "--resume", "--out", str(tmp_path / "two")
    )
    assert "going on at step 10 of 20 steps" in said
    alike(tmp_path / "two", tmp_path / "one")


@slow
def test_batches_of_a_single_row_are_among_those_shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the first test claims about its data."""
    sizes: list[int] = []
    plain = PairBatches.__getitem__

    def seen(self: PairBatches, step: int) -> object:
        batch = plain(self, step)
        sizes.append(len(batch.source))
        return batch

    monkeypatch.setattr(PairBatches, "__getitem__", seen)
    one("gru-additive", *USUAL, "task.batch_tokens=9", out=tmp_path / "one", last=5)
    assert min(sizes) == 1
    assert max(sizes) > 1


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"WORLD_SIZE": "2", "RANK": "0"}, "WORLD_SIZE says 2 processes, and MASTER_ADDR is not set: start them with"),
        ({"WORLD_SIZE": "2"}, "RANK is not set"),
        ({"WORLD_SIZE": "2", "RANK": "2", "MASTER_ADDR": "x", "MASTER_PORT": "1"}, "RANK is 2"),
        ({"WORLD_SIZE": "0", "RANK": "0", "MASTER_ADDR": "x", "MASTER_PORT": "1"}, "WORLD_SIZE says 0 processes"),
        ({"WORLD_SIZE": "many"}, "WORLD_SIZE and RANK must be numbers"),
    ],
)
def test_processes_that_nobody_starts_are_not_waited_for(
    environment: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(RecipeError, match=said), processes("cpu"):
        pass


def test_processes_that_do_not_meet_are_told_where(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "no"}
    for name, value in there.items():
        monkeypatch.setenv(name, value)
    with (
        pytest.raises(FailedError, match=r"127\.0\.0\.1:no: the 2 processes of torchrun do not meet"),
        processes("cpu"),
    ):
        pass
