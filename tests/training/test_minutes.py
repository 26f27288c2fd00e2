"""Training for so many minutes: steps are counted once, kept, and gone on with."""

import os
from pathlib import Path

import pytest
from heard import Heard
from toyruns import fingerprint, recipe, until, whole

from regard.errors import RecipeError
from regard.run import Run
from regard.training.events import Ended, Started, Step
from regard.training.plan import plan
from regard.training.rehearsal import count_steps
from regard.training.train import training


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "fsync", os.fstat)  # nobody pulls the plug here


@pytest.fixture
def nine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine steps fit, whatever this machine is busy with."""
    monkeypatch.setattr("regard.training.rehearsal.count_steps", lambda *_: 9)


@pytest.mark.parametrize(
    ("seconds", "step", "look", "every", "steps"),
    [
        (60.0, 1.0, 0.0, 10, 60),
        (60.0, 1.0, 5.0, 10, 40),  # four times 10 + 5
        (63.0, 1.0, 5.0, 10, 40),  # three seconds are no time for a step and a validation
        (68.0, 1.0, 5.0, 10, 43),
        (60.0, 1.0, 5.0, 1000, 55),
        (1.0, 30.0, 30.0, 10, 1),
    ],
)
def test_steps_and_the_validations_between_them_fit(
    seconds: float, step: float, look: float, every: int, steps: int
) -> None:
    assert count_steps(seconds, step, look, every) == steps


@pytest.mark.usefixtures("nine")
def test_it_is_the_run_of_as_many_steps(tmp_path: Path) -> None:
    """The schedule ends with the last step; what was learnt while timing is forgotten; cut short, it ends the same."""
    table = recipe("gru-additive", dropout=0.2, schedule={"kind": "cosine", "warmup_steps": 2})
    timed = table | {"training": table["training"] | {"minutes": 0.01}}
    whole(table | {"training": table["training"] | {"steps": 9}}, tmp_path / "steps")
    events = whole(timed, tmp_path / "minutes")
    assert [event.total for event in events if isinstance(event, Started)] == [9]
    assert fingerprint(tmp_path / "minutes") == fingerprint(tmp_path / "steps")
    until(timed, tmp_path / "cut", lambda event: isinstance(event, Step) and event.number == 4)
    whole(timed, tmp_path / "cut", resume=True)
    assert fingerprint(tmp_path / "cut") == fingerprint(tmp_path / "steps")
    run = Run.open(tmp_path / "cut")
    assert (run.recipe["training"]["minutes"], run.recipe["training"]["steps"], run.facts["steps"]) == (0.01, 9, 9)


@pytest.mark.usefixtures("nine")
def test_a_run_of_minutes_goes_on_for_more_of_them_or_for_steps(tmp_path: Path) -> None:
    whole(recipe(minutes=0.01), tmp_path / "run")
    heard = Heard()
    list(training(str(tmp_path / "run"), resume=True, listener=heard))
    assert heard.said == [
        f"{tmp_path / 'run'}: it has taken its 9 steps; to train it for longer, say training.minutes=0.02"
    ]
    events = list(training(str(tmp_path / "run"), "training.minutes=0.02", resume=True))
    assert isinstance(events[-1], Ended)
    assert events[-1].step == 18
    events = list(training(str(tmp_path / "run"), "training.steps=20", resume=True))
    assert events[-1].step == 20  # type: ignore[union-attr]
    assert Run.open(tmp_path / "run").recipe["training"]["minutes"] == 0
    with pytest.raises(RecipeError, match=r"begun for a number of steps; say training\.steps=N, more than 20"):
        list(training(str(tmp_path / "run"), "training.minutes=5", resume=True))


def test_the_way_it_is_said_last_counts(tmp_path: Path) -> None:
    assert plan(recipe(minutes=5.0), "training.steps=7", out=tmp_path / "new").steps == 7
    with pytest.raises(RecipeError, match=r"training\.minutes, training\.steps: both say how long"):
        plan(recipe(), "training.steps=7", "training.minutes=5", out=tmp_path / "new")
    with pytest.raises(RecipeError, match=r"training\.minutes: wanted a number ≥ 0"):
        plan(recipe(), "training.minutes=-1", out=tmp_path / "new")


def test_it_is_said_how_many_steps_fit(tmp_path: Path) -> None:
    heard = Heard()
    found = plan(recipe(schedule={"kind": "cosine", "warmup_steps": 10**6}), "training.minutes=0.02", listener=heard)
    said = [text for text in heard.said if text.startswith("training.")]
    assert said[0].startswith(f"training.minutes=0.02: time for {found.steps:,} step")
    assert said[1].startswith(f"training.schedule: 1,000,000 of its {found.steps:,} steps are warm-up")
    assert f"{found.steps:,} (" in str(found)
    assert "as fit into 0.02 min" in str(found)
    assert found.memory.optimizer >= 2 * found.memory.weights
    assert found.steps >= 1
