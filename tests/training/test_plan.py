"""A dry run: what training would be, found with real batches, and nothing left behind."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from toyruns import fingerprint, recipe, whole

from regard.errors import InputError, RecipeError
from regard.training.events import Step
from regard.training.learner import Learner
from regard.training.memory import has
from regard.training.plan import plan


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "fsync", os.fstat)  # nobody pulls the plug here
    monkeypatch.chdir(tmp_path)


def test_it_says_what_training_will_be(tmp_path: Path) -> None:
    found = plan(recipe(steps=40), out=tmp_path / "runs" / "new")
    assert (found.task, found.model, found.step, found.steps, found.unit) == ("translation", "seq2seq", 0, 40, "tokens")
    assert {split: report.kept for split, report in found.splits.items()} == {"train": 90, "valid": 4, "test": 4}
    assert found.seconds == pytest.approx(40 * found.seconds_per_step)
    assert found.memory.weights == 4 * found.parameters == found.memory.gradients
    assert found.memory.optimizer >= 2 * found.memory.weights  # what AdamW keeps
    assert 0 < found.memory.activations < found.memory.total < found.memory.machine
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]  # and no folder


def test_it_is_what_training_then_is(tmp_path: Path) -> None:
    found = plan(recipe(), out=tmp_path / "new")
    events = whole(recipe(), tmp_path / "new")
    started = events[1]
    assert (started.parameters, started.total, started.steps_per_epoch) == (  # type: ignore[union-attr]
        found.parameters,
        found.steps,
        found.steps_per_epoch,
    )
    assert json.loads((tmp_path / "new" / "run.json").read_text())["parameters"] == found.parameters


def test_of_a_run_to_go_on_with_it_changes_nothing(tmp_path: Path) -> None:
    whole(recipe(), tmp_path / "run")
    before = fingerprint(tmp_path / "run"), sorted(path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*"))
    found = plan(str(tmp_path / "run"), "training.steps=20", resume=True)
    assert (found.step, found.steps) == (6, 20)
    assert found.seconds == pytest.approx(14 * found.seconds_per_step)
    after = fingerprint(tmp_path / "run"), sorted(path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*"))
    assert after == before


def test_it_refuses_what_training_would_refuse(tmp_path: Path) -> None:
    whole(recipe(), tmp_path / "run")
    with pytest.raises(InputError, match="there is a run already"):
        plan(recipe(), out=tmp_path / "run")
    with pytest.raises(RecipeError, match="best_by"):
        plan(recipe(best_by="foo"), out=tmp_path / "new")


def test_batches_beyond_the_memory_are_refused_with_the_key_that_makes_them_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = recipe("transformer", data={"letters": 20, "train": 4000}, batch_tokens=10**20)
    found = plan(table, out=tmp_path / "new").memory
    assert found.activations > 2**23  # as much as the data are
    monkeypatch.setattr("regard.training.memory.activations", lambda learner: 2**20 * found.activations)
    with pytest.raises(RecipeError, match=r"of it for a batch, and there is .* GiB\nlower task\.batch_tokens"):
        plan(table, out=tmp_path / "new")
    with pytest.raises(RecipeError, match=r"lower task\.batch_tokens"):
        whole(table, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_machine_has_what_its_groups_allow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    here = torch.device("cpu")
    assert 2**28 < has(here) < 2**50
    (tmp_path / "memory.max").write_text("1000000\n")
    monkeypatch.setattr("regard.training.memory.GROUPS", tmp_path)
    assert has(here) == 1_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert has(here) > 1_000_000


def test_the_first_step_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes what the others find, and may take many times as long."""
    whole_step = Learner.step

    def step(learner: Learner, number: int) -> Step:
        return replace(whole_step(learner, number), seconds=0.25 if number else 60.0)

    monkeypatch.setattr(Learner, "step", step)
    found = plan(recipe(steps=40), out=tmp_path / "new")
    assert (found.seconds_per_step, found.seconds) == (0.25, 10.0)


def test_averages_need_as_much_memory_as_the_weights(tmp_path: Path) -> None:
    plain, kept = (plan(recipe(steps=4, ema=ema), out=tmp_path / "new").memory for ema in (0.0, 0.9))
    assert kept.optimizer == plain.optimizer + plain.weights
