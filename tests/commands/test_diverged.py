"""A training that diverges: what was good before is kept, and everybody who uses it is told."""

import json
from pathlib import Path

import pytest
from spoken import WORDS, refused, regard

from regard.decoding import sample
from regard.decoding.search import not_numbers
from regard.training.learner import Learner

LONG = [*WORDS, "training.steps=30", "training.checkpoints.validate_every=5"]


@pytest.fixture
def lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose loss is no number any more at step 12, with checkpoints of steps 5 and 10."""
    steps, folder = Learner._gradients, tmp_path / "lost"

    def gradients(learner: Learner, number: int, *rest: object) -> object:
        found = steps(learner, number, *rest)  # type: ignore[arg-type]
        return found * float("nan") if number >= 12 else found

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "_gradients", gradients)
        patch.setattr(Learner, "_good", lambda *_: False)
        done = regard("train", *LONG, "--out", str(folder))
    assert done.code == 1
    assert "step 12: the loss is nan" in done.err
    assert "the run diverged; step 10 is saved\nlower training.optimizer.learning_rate" in done.err
    return folder


def test_what_was_good_is_used_and_that_is_said(lost: Path) -> None:
    done = regard("translate", str(lost), "a b")
    assert done.code == 0
    assert f"{lost}: this run diverged at step 12; what answers is step " in done.err
    assert "diverged" in regard("runs", str(lost)).out
    shown = " ".join(regard("runs", "show", str(lost)).out.split())
    assert "state diverged, 10 of 30 steps" in shown or "state diverged, 12 of 30 steps" in shown
    assert "diverged at step 12" in shown
    assert json.loads(regard("runs", "show", str(lost), "--json").out)["diverged"] == 12


def test_to_go_on_says_what_else_to_do(lost: Path, tmp_path: Path) -> None:
    done = regard("train", str(lost), "--resume")
    assert done.code == 0  # this time nothing went wrong
    assert f"{lost}: this run diverged at step 12, and goes on from step 10 as it did then" in done.out
    assert f"with another learning rate, begin a new run from its weights: from={lost}" in done.out
    again = regard("translate", str(lost), "a b")
    assert (again.code, again.err) == (0, "")  # it is whole now


def test_with_a_lower_rate_it_is_begun_from(lost: Path, tmp_path: Path) -> None:
    rate = "training.optimizer.learning_rate=0.0001"
    refused(2, f"begin a new run from its weights: from={lost}", "train", str(lost), "--resume", rate)
    done = regard("train", f"from={lost}", rate, "training.steps=2", "--out", str(tmp_path / "new"))
    assert done.code == 0
    assert f"{lost}: this run diverged at step 12" in done.out


def test_before_anything_good_was_saved_there_is_nothing_to_go_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "lost"
    words = ["training.optimizer.learning_rate=1e30", "training.max_grad_norm=0"]
    done = regard("train", *LONG, *words, "--out", str(folder))
    assert done.code == 1
    assert "the run diverged; nothing good was saved before" in done.err
    said = f"{folder}: this run diverged at step 1 before anything good was saved; train a new one with a lower "
    for verb in (["translate", str(folder), "a"], ["train", str(folder), "--resume"]):
        refused(3, said, *verb)
    assert " diverged" in regard("runs", str(folder)).out
    assert regard("runs", "remove", str(folder), "--yes").code == 0


def test_weights_whose_answers_are_no_numbers_have_diverged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are numbers themselves, and too large to reckon with: only a look at the validation data shows it."""

    def fails(*_: object) -> None:
        raise not_numbers()

    monkeypatch.setattr(sample, "_told", fails)
    done = regard("train", *LONG, "--out", str(tmp_path / "lost"))
    assert done.code == 1
    assert "step 5: no answer of the validation is a number any more: the run diverged" in done.err
    assert "Traceback" not in done.err
