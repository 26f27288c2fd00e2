"""A run whose folder is removed while it trains, or is evaluated, ends with a sentence and is not made anew."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from toyruns import recipe, whole

from regard.errors import FailedError
from regard.listener import SILENT
from regard.run import Run
from regard.run.curve import keep_picture, keep_table
from regard.training.events import Event, Saved, Step
from regard.training.train import training


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "fsync", os.fstat)  # nobody pulls the plug here


def half_removed(folder: Path) -> None:
    """As `rm -r` leaves it that is still at work."""
    for name in ("recipe.toml", "run.json", "log.jsonl"):
        (folder / name).unlink()


def replaced(folder: Path) -> None:
    """By another run of the same name."""
    folder.rename(folder.with_name("elsewhere"))
    shutil.copytree(folder.with_name("elsewhere"), folder)


@pytest.mark.parametrize("removed", [shutil.rmtree, half_removed, replaced])
@pytest.mark.parametrize("when", [Step, Saved])
def test_training_ends(tmp_path: Path, removed: Callable[[Path], None], when: type[Event]) -> None:
    folder, there = tmp_path / "run", list[Path]()
    with pytest.raises(FailedError, match="the run was removed meanwhile; nothing more is kept in it$"):
        for event in training(recipe(steps=40), out=folder):
            if isinstance(event, when) and not there:
                removed(folder)
                there = [tmp_path, *sorted(tmp_path.rglob("*"))]
    assert [path for path in tmp_path.rglob("*") if path not in there] == []


def test_nothing_is_kept_of_an_evaluation(tmp_path: Path) -> None:
    whole(recipe(), tmp_path / "run")
    run = Run.open(tmp_path / "run")
    shutil.rmtree(run.folder)
    with pytest.raises(FailedError, match="the run was removed meanwhile"):
        run.keep_scores({"loss": 1.0}, step=6)
    keep_table(run.folder, SILENT)
    keep_picture(run.folder, "run", SILENT)
    assert not run.folder.exists()
