"""The learning curve, as a table and as a picture in the run; whatever is wrong with it costs nothing else."""

import csv
import errno
import io
import os
from pathlib import Path

import pytest
from heard import Heard

from regard.errors import InputError
from regard.run import Run
from regard.run.curve import as_csv, curve_file, draw, keep_picture, keep_table, rows


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(os, "fsync", os.fstat)  # nobody pulls the plug here
    made = Run.create(tmp_path / "run", {"name": "small"}, {}, "abc")
    made.log({"step": 0, "data": {"train": {}}, "seconds": 0.0})
    made.log({"step": 10, "loss": 2.5, "lr_factor": 1.0, "seconds": 1.0})
    made.log({"step": 10, "valid": {"loss": 2.0, "bleu": 3.0}, "seconds": 2.0})
    made.log({"step": 20, "loss": 1.5, "lr_factor": 0.5, "seconds": 3.0})
    return made


def test_a_row_a_step_with_scores_beside_the_loss(run: Run) -> None:
    table = list(csv.DictReader(io.StringIO(as_csv(run.folder).decode())))
    assert list(table[0])[:4] == ["step", "loss", "valid_loss", "valid_bleu"]
    assert [(row["step"], row["loss"], row["valid_bleu"]) for row in table] == [
        ("10", "2.5", "3.0"),
        ("20", "1.5", ""),
    ]
    assert table[0]["seconds"] == "2.0"


def test_what_is_no_number_is_left_out(run: Run) -> None:
    run.log({"step": "thirty", "loss": 1})
    run.log({"step": 30, "loss": None, "valid": [1], "grad_norm": "x", "lr_factor": 1.0})
    run.log({"step": 40, "loss": None})
    assert rows(run.folder)[-1] == {"step": 30, "lr_factor": 1.0}
    assert draw(run.folder, "a title").startswith(b"\x89PNG")


def test_it_is_kept_in_the_run(run: Run) -> None:
    heard = Heard()
    keep_table(run.folder, heard)
    keep_picture(run.folder, "run", heard)
    assert heard.said == []
    assert (run.folder / "curve.csv").read_bytes() == as_csv(run.folder)
    assert (run.folder / "curve.png").stat().st_size > 5000


def test_nothing_is_lost_but_the_curve(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    heard = Heard()
    monkeypatch.setattr("regard.run.curve.write", refuse)
    keep_table(run.folder, heard)
    keep_picture(run.folder, "run", heard)
    assert [text.split(": ")[0] for text in heard.said] == [f"{run.folder}/curve.csv", f"{run.folder}/curve.png"]
    assert all("Read-only file system" in text for text in heard.said)


def test_a_run_without_a_log_has_no_picture(run: Run) -> None:
    (run.folder / "log.jsonl").unlink()
    keep_picture(run.folder, "run", Heard())
    assert not (run.folder / "curve.png").exists()
    assert as_csv(run.folder) == b"step,loss\n"
    assert draw(run.folder, "empty").startswith(b"\x89PNG")


def test_a_name_is_no_formula(run: Run) -> None:
    assert draw(run.folder, r"cost $\frac$ in $").startswith(b"\x89PNG")


def test_other_endings_are_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.jpeg: a curve is written as \.csv, \.png, \.svg, \.pdf"):
        curve_file(run.folder, "run", tmp_path / "x.jpeg")


def test_a_full_disk_and_a_long_name_are_told_plainly_and_cost_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    heard, name = Heard(), "n" * 255
    keep_picture(run.folder, name, heard)
    run.curve().draw(run.folder / "two.png", {name: run.curve(), "b": run.curve()})
    assert (heard.said, list(recwarn)) == ([], [])

    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("regard.run.curve.write", full)
    keep_table(run.folder, heard)
    keep_picture(run.folder, name, heard)
    assert len(heard.said) == 2
    assert all("the disk is full; what was saved before is whole" in said for said in heard.said)
    assert not any("Errno" in said for said in heard.said)
