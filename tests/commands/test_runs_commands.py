"""regard runs: list, show and remove, for people and machines, whatever the folders are called."""

import json
import re
import shutil
from pathlib import Path

import pytest
from spoken import refused, regard

from regard.commands.show import console
from regard.run import Run


@pytest.fixture
def here(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `runs` with one run, `toy`."""
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    return run.rename("runs/toy")


def test_runs_are_listed_with_what_one_chooses_by(here: Path) -> None:
    done = regard("runs")
    assert (done.code, done.err) == (0, "")
    assert done.lines[0].split() == ["run", "task", "recipe", "best", "steps", "size", "age", "state"]
    assert re.fullmatch(
        r"runs/toy +translation +gru-additive +bleu [\d.]+ +60 +[\d.]+ [KM]iB +\d+ (s|min) +done", done.lines[1]
    )
    assert regard("runs", "list", "runs").lines[0] == done.lines[0]
    (facts,) = json.loads(regard("runs", "runs", "--json").out)
    assert (facts["folder"], facts["state"], facts["step"], facts["best_by"]) == ("runs/toy", "done", 60, "bleu")


def test_a_narrow_terminal_gets_fewer_columns_and_whole_names(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here.rename("runs/" + "long-" * 8)
    monkeypatch.setattr(type(console), "is_terminal", True)
    for width, heads in ((120, 8), (80, 5), (40, 4)):
        monkeypatch.setattr(type(console), "width", width)
        head, row = regard("runs").lines
        assert len(head.split()) == heads
        assert f"runs/{'long-' * 8}" in row
        assert len(row) <= width or heads == 4


def test_names_are_shown_and_never_obeyed(here: Path) -> None:
    hostile = ["[bold]x[red]", "new\nline", "red\x1b[31m", "sp ace"]
    for name in hostile:
        shutil.copytree(here, f"runs/{name}")
    done = regard("runs")
    assert len(done.lines) == 2 + len(hostile)
    assert "\x1b" not in done.out
    assert "runs/[bold]x[red]" in done.out
    for name in hostile:
        shown = regard("runs", "show", f"runs/{name}")
        assert shown.code == 0
        assert "\x1b" not in shown.out
        assert regard("runs", "remove", f"runs/{name}", "--yes").code == 0
    assert [path.name for path in Path("runs").iterdir()] == ["toy"]


def test_a_run_is_shown_with_its_data_scores_and_commands(here: Path) -> None:
    Run.open(here).keep_scores({"loss": 1.25, "bleu": 12.0}, step=60, on="other.tsv", how=["decoding.beam_size=2"])
    done = regard("runs", "show", "runs/toy")
    assert (done.code, done.err) == (0, "")
    rows = {line.split("  ")[0]: " ".join(line.split()) for line in done.lines if line[:1].strip()}
    assert rows["run"] == "run runs/toy: translation, recipe gru-additive"
    assert rows["state"].startswith("state done, 60 of 60 steps, changed ")
    assert rows["train data"] == "train data 200; 100 % of sources are one sentence"
    assert rows["valid data"].startswith("valid data 5; scores of so few will be rough")
    assert rows["test data"] == "test data 30"
    assert re.search(r"best step \d+: loss [\d.]+ bleu [\d.]+ chrf [\d.]+", rows["best"])
    shown = " ".join(done.out.split())
    assert re.search(r"scores \(1\) on other.tsv decoding.beam_size=2, step 60: loss 1.25\S* bleu 12", shown)
    assert rows["by"].startswith("by regard train gru-additive data.kind=toy")
    assert "curve.png" in rows["curve"]
    facts = json.loads(regard("runs", "show", "runs/toy", "--json").out)
    assert facts["splits"]["train"]["kept"] == 200
    assert facts["evaluations"][0]["on"] == "other.tsv"


@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "csv"])
def test_the_learning_curve_is_written_where_one_wants_it(ending: str, here: Path) -> None:
    done = regard("runs", "show", "runs/toy", "--out", f"sub/x.{ending}")
    assert (done.code, done.err, done.lines[-1]) == (0, "", f"Look at sub/x.{ending}.")
    begins = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF", "csv": b"step,loss,valid_loss,valid_bleu"}
    assert Path(f"sub/x.{ending}").read_bytes().startswith(begins[ending])


def test_another_ending_is_refused(here: Path) -> None:
    refused(3, "x.gif: a curve is written as .csv, .png, .svg, .pdf", "runs", "show", "runs/toy", "--out", "x.gif")


def test_a_run_is_removed_when_somebody_agrees(here: Path) -> None:
    for answer in (b"", b"n\n"):
        done = regard("runs", "remove", "runs/toy", given=answer)
        assert done.code == 1
        assert "Remove runs/toy (translation gru-additive, 60 steps, " in done.out
        assert done.err == "regard: nothing was removed; --yes removes without asking\n"
        assert here.is_dir()
    done = regard("runs", "remove", "runs/toy", given=b"y\n")
    assert done.code == 0
    assert "removed runs/toy, " in done.out
    assert not Path("runs/toy").exists()
    assert regard("runs").out == "no runs in runs; `regard train RECIPE …` makes one\n"


def test_what_is_no_run_is_refused(here: Path) -> None:
    for verb in ("show", "remove"):
        refused(3, "runs: not a run folder", "runs", verb, "runs")
    refused(3, "nowhere: no such folder", "runs", "nowhere")
    (here / "run.json").write_text("{")
    refused(3, "runs/toy/run.json: damaged: not a JSON table", "runs", "show", "runs/toy")
    assert " damaged" in regard("runs").out
    assert regard("runs", "remove", "runs/toy", "--yes", "--json").code == 0


def test_checkpoints_that_are_gone_are_told_by_every_verb(here: Path) -> None:
    shutil.rmtree(here / "checkpoints")
    said = "runs/toy: its checkpoints are gone; train a new run with its recipe, runs/toy/recipe.toml"
    refused(3, said, "train", "runs/toy", "--resume")
    refused(3, said, "translate", "runs/toy", "a")
    refused(3, said, "pack", "runs/toy", "--out", "slim")
    assert "damaged" in " ".join(regard("runs", "show", "runs/toy").out.split())
    assert not Path("slim").exists()
    assert not (here / "checkpoints").exists()
