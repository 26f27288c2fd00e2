"""A name that is no run, or a run of another task: what was meant, and the verb that fits."""

from pathlib import Path

import pytest
from spoken import refused

import regard
from regard.run import Run


def run_of(task: str, folder: Path) -> str:
    """Only its recipe is read until it is of the right task."""
    Run.create(folder, {"name": folder.name, "task": {"kind": task}, "model": "language_model"}, {}, "")
    return str(folder)


def test_the_run_that_a_recipe_made_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    no = "not a run folder (no recipe.toml in it)"
    refused(3, f"numbers-gru: {no}; `regard train numbers-gru` makes one", "evaluate", "numbers-gru")
    refused(3, f"mine: {no}; `regard train RECIPE` makes one", "evaluate", "mine")
    run_of("translation", Path("runs/numbers-gru"))
    for verb in ("evaluate", "translate", "pack"):
        more = ["--out", "copy"] if verb == "pack" else []
        refused(3, f"numbers-gru: {no}; did you mean runs/numbers-gru?", verb, "numbers-gru", *more)
    refused(3, "did you mean runs/numbers-gru?", "runs", "show", "runs/numbers-gur")
    with pytest.raises(regard.InputError, match=r"did you mean runs/numbers-gru\?"):
        regard.translate("numbers-gru", "neun")


@pytest.mark.parametrize(
    ("task", "use"),
    [("language", "regard generate {run}"), ("translation", "regard translate {run} 'your text'")],
)
def test_a_run_of_another_task_is_named_before_its_images_are_looked_for(task: str, use: str, tmp_path: Path) -> None:
    run = run_of(task, tmp_path / "a run")
    use = use.format(run=f"'{run}'")
    for verb, called in (("classify", "classifier"), ("restore", "restorer")):
        refused(3, f"{run}: not a {called}; its task is {task}: `{use}`", verb, run, "hi")


def test_runs_of_two_tasks_are_not_looked_at_side_by_side(tmp_path: Path) -> None:
    """Before the text is taken for the name of an image."""
    one, other = run_of("translation", tmp_path / "one"), run_of("classification", tmp_path / "other")
    said = f"runs of one task can be seen side by side: {one} is of translation, {other} of classification"
    refused(3, said, "look", one, "Un chien.", "--with", other, "--out", str(tmp_path / "page.html"))
