"""Restorers: cut short and gone on with to the bit, and begun from one another at another size."""

from pathlib import Path
from typing import Any

import pytest
import torch
from small_images import EVERYTHING, put
from small_restorers import restoring
from toyruns import fingerprint, killed, tensors, until, whole

from regard.run import Run
from regard.tasks.restoration.facts import Facts
from regard.training.events import Step
from regard.training.train import training


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def images(tmp_path: Path) -> Path:
    return put(tmp_path / "images", 8)


def step(number: int) -> Any:
    return lambda event: isinstance(event, Step) and event.number == number


def test_resumed_it_ends_as_if_never_interrupted_to_the_bit(images: Path, tmp_path: Path) -> None:
    """All that has a state or a chance of its own: noise of many strengths, varied images, averages, statistics."""
    more = {"ema": 0.9, "accumulate": 2, "steps": 6, "checkpoints": {"validate_every": 3, "keep": 9}}
    noise = {"kind": "noise", "strength": 0.3, "varies": 0.9}
    asked = restoring(images, corruption=noise, augmentation=EVERYTHING, training=more)
    whole(asked, tmp_path / "whole")
    until(asked, tmp_path / "other", step(1))
    killed(asked, tmp_path / "other", step(5), resume=True)
    whole(asked, tmp_path / "other", resume=True)
    assert fingerprint(tmp_path / "other") == fingerprint(tmp_path / "whole")


def test_another_size_and_corruption_go_on_from_all_weights(images: Path, tmp_path: Path) -> None:
    scaled = {"mean": [0.1, 0.2, 0.3], "std": [0.5, 0.6, 0.7]}
    one = {"steps": 1, "checkpoints": {"validate_every": 1}}  # so that the best is the last
    whole(restoring(images, task=scaled, training=one), tmp_path / "base")
    words = [f"from={tmp_path / 'base'}", "task.size=12", "corruption.kind=squares", f"data.train={images}"]
    words += ["training.steps=1", "training.optimizer.learning_rate=1e-12", "data.valid_share=0.2"]
    list(training(*words, out=tmp_path / "new"))
    mine, theirs = tensors(tmp_path / "new"), tensors(tmp_path / "base")
    torch.testing.assert_close(mine["head.weight"], theirs["head.weight"])
    facts = Facts.open(Run.open(tmp_path / "new").files)
    assert (facts.mean, facts.std, facts.shape) == ((0.1, 0.2, 0.3), (0.5, 0.6, 0.7), (12, 12))
