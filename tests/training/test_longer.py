"""Training longer than first said, and what else may change when a run goes on."""

import os
from pathlib import Path
from typing import Any

import pytest
from heard import Heard
from toyruns import fingerprint, recipe, until, whole

from regard.errors import InputError, RecipeError
from regard.run import Run
from regard.training.events import Ended, Started, Step
from regard.training.train import training


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "fsync", os.fstat)  # nobody pulls the plug here


def gone_on(folder: Path, *overrides: str, heard: Heard | None = None) -> list[Any]:
    return list(training(str(folder), *overrides, resume=True, listener=heard or Heard()))


def test_longer_under_a_constant_schedule_is_the_longer_run_to_the_bit(tmp_path: Path) -> None:
    table = recipe("gru-additive", dropout=0.2)
    whole(table | {"training": table["training"] | {"steps": 12}}, tmp_path / "long")
    whole(table, tmp_path / "short")
    heard = Heard()
    events = gone_on(tmp_path / "short", "training.steps=12", heard=heard)
    assert [event.number for event in events if isinstance(event, Step)] == list(range(7, 13))
    assert not [text for text in heard.said if "schedule" in text]
    assert fingerprint(tmp_path / "short") == fingerprint(tmp_path / "long")
    run = Run.open(tmp_path / "short")
    assert (run.recipe["training"]["steps"], run.facts["steps"], run.facts["ended"]) == (12, 12, "done")


def test_epochs_may_grow_too(tmp_path: Path) -> None:
    whole(recipe(steps=0, epochs=1), tmp_path / "run")
    events = gone_on(tmp_path / "run", "training.epochs=2")
    started = next(event for event in events if isinstance(event, Started))
    assert (started.total, events[-1].step) == (2 * started.steps_per_epoch, 2 * started.steps_per_epoch)


def test_a_schedule_that_looks_ahead_is_told(tmp_path: Path) -> None:
    cosine = {"kind": "cosine", "warmup_steps": 0}
    whole(recipe(schedule=cosine), tmp_path / "run")
    heard = Heard()
    gone_on(tmp_path / "run", "training.steps=12", heard=heard)
    (said,) = [text for text in heard.said if text.startswith("training.schedule: cosine goes by the steps in all")]
    assert "so this is not what 12 steps from the start are" in said


def test_a_finished_run_says_how_to_train_it_longer(tmp_path: Path) -> None:
    whole(recipe(), tmp_path / "run")
    heard = Heard()
    assert isinstance(gone_on(tmp_path / "run", heard=heard)[-1], Ended)
    assert heard.said == [
        f"{tmp_path / 'run'}: it has taken its 6 steps; to train it for longer, say training.steps=12"
    ]
    whole(recipe(steps=0, epochs=1), tmp_path / "epochs")
    heard = Heard()
    gone_on(tmp_path / "epochs", heard=heard)
    assert heard.said[0].endswith("to train it for longer, say training.epochs=2")


def test_a_run_out_of_patience_says_what_lets_it_go_on(tmp_path: Path) -> None:
    whole(recipe(steps=60, patience=1, validate_every=1, best_by="bleu"), tmp_path / "run")
    run = Run.open(tmp_path / "run")
    assert run.facts["ended"] == "patience"
    heard = Heard()
    gone_on(tmp_path / "run", "training.steps=61", heard=heard)
    assert any("training.checkpoints.patience=0 lets it go on all the same" in text for text in heard.said)
    events = gone_on(tmp_path / "run", "training.steps=62", "training.checkpoints.patience=0")
    assert events[-1].step == 62


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("training.steps=5", "training.steps: 5 steps are fewer than the 6 this run is to take; say more"),
        ("training.epochs=50", "training.epochs: this run counts steps; say training.steps=N, more than 6"),
        ("training.optimizer.learning_rate=1", "learning_rate: the run in .* has 0.01, now it says 1.0\n.*from="),
        ("training.seed=2", "training.seed: the run in .* has 1, now it says 2\ngo on with the run's own recipe, or"),
        ("data.letters=7", "data.letters: the run in .* has 6, now it says 7"),
        ("model.width=32", "model.width: the run in .* has 16, now it says 32"),
    ],
)
def test_what_would_make_it_another_run_is_refused(override: str, said: str, tmp_path: Path) -> None:
    whole(recipe(), tmp_path / "run")
    before = (fingerprint(tmp_path / "run"), (tmp_path / "run" / "recipe.toml").read_text())
    with pytest.raises(RecipeError, match=said):
        gone_on(tmp_path / "run", override)
    assert (fingerprint(tmp_path / "run"), (tmp_path / "run" / "recipe.toml").read_text()) == before


def test_it_is_refused_before_any_data_are_read(tmp_path: Path) -> None:
    until(recipe(), tmp_path / "run", lambda event: isinstance(event, Step))
    heard = Heard()
    with pytest.raises(RecipeError):
        gone_on(tmp_path / "run", "model.width=32", heard=heard)
    assert heard.works == []


def test_two_folders_and_from_with_resume_are_refused(tmp_path: Path) -> None:
    whole(recipe(), tmp_path / "run")
    with pytest.raises(InputError, match="two folders for one run; to go on, name the run alone"):
        list(training(str(tmp_path / "run"), resume=True, out=tmp_path / "foo"))
    with pytest.raises(InputError, match="from= begins a new run, and to resume is to go on with one"):
        list(training(f"from={tmp_path / 'run'}", resume=True))
    assert not (tmp_path / "foo").exists()
