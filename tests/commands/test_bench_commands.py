"""regard bench and regard data get: figures in any case, one voice for machines and for the quiet, right blame."""

import json
from pathlib import Path

import pytest
from spoken import Done, refused, regard

import regard as python
from regard.matmul import describe_processor
from regard.measuring import machine

SMALL = ("bench", "attention", "--lengths", "32,64", "--kinds", "dot flash", "--repeats", "1")
BLAMED = {
    "peers": (("training", "--peers", "joeynmt"), "python benchmarks/training.py --peers joeynmt"),
    "peers of decoding": (("decoding", "--peers", "ctranslate2"), "python benchmarks/decoding.py --peers ctranslate2"),
    "width": (("gpt", "--width", "50", "--heads", "3"), "--width 50: not a multiple of --heads 3; say 51"),
    "positions": (("steps", "--positions", "-5"), "--positions -5: wanted numbers such as 1024,2048, none below 1"),
    "lengths": (("attention", "--lengths", "0,5"), "--lengths 0,5: wanted numbers"),
    "limit": (("attention", "--limit", "nan"), "--limit nan: wanted seconds, more than 0"),
    "beam": (("decoding", "--beam", "100000"), "'--beam'"),
    "heads": (("gpt", "--heads", "0"), "'--heads'"),
    "vocabulary": (("training", "--vocab-size", "3"), "'--vocab-size'"),
}


@pytest.mark.parametrize("fault", BLAMED)
def test_the_right_flag_is_blamed(fault: str) -> None:
    words, said = BLAMED[fault]
    refused(2, said, "bench", *words)


def test_what_was_measured_is_shown_though_the_picture_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = regard(*SMALL, "--out", str(tmp_path / "file" / "x"))
    assert done.code == 1
    assert "dot flash" in done.out
    assert "forward + backward, ms" in done.out
    last = done.err.splitlines()[-1]
    assert last.startswith(f"regard: {tmp_path / 'file' / 'x'}: ")
    assert last.endswith("; the figures are above, --out names another place")
    assert "Traceback" not in done.err


def test_the_quiet_hear_only_figures(tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "x"))
    loud, quiet, machine = regard(*SMALL, *out), regard(*SMALL, *out, "--quiet"), regard(*SMALL, *out, "-q", "--json")
    assert "dot flash at 32" in loud.err
    assert f"Look at {tmp_path}/x.png" in loud.out
    assert quiet.err == machine.err == ""
    assert "growth:" in quiet.out
    assert "Look at" not in quiet.out
    assert [row["length"] for row in json.loads(machine.out)["dot flash"]] == [32, 64]


def test_data_get_has_one_voice_for_each(tmp_path: Path) -> None:
    words = ("data", "get", "phrases", "--out", str(tmp_path))
    folder = str(tmp_path / "phrases-de-en")
    assert regard(*words, "--quiet") == Done(0, f"{folder}\n", "")
    found = json.loads(regard(*words, "--json").out)
    assert (found["folder"], found["source"], found["target"]) == (folder, "de", "en")
    lines = {split: len((Path(folder) / f"{split}.de").read_text().splitlines()) for split in found["pairs"]}
    assert lines == found["pairs"]
    shown = regard(*words).lines
    assert shown[0].endswith(f"pairs in {folder}")
    assert shown[-1].startswith("  regard train transformer-tiny data.train=")


def test_the_same_can_be_measured_in_python() -> None:
    found = python.bench("attention", lengths=[16], kinds=["dot naive"], repeats=1)
    assert [(row["name"], row["length"]) for row in found.rows] == [("dot naive", 16)]
    assert "dot naive" in str(found)
    steps = python.bench("steps", lengths=[3], repeats=1)
    assert {row["past"] for row in steps.rows} == {3}


def test_a_machine_shows_what_each_library_reaches_and_which_one_is_taken(monkeypatch) -> None:
    monkeypatch.setattr(machine, "SECONDS", 0.0)
    sizes = [(2, 16, 24), (40, 16, 24)]
    monkeypatch.setattr(machine, "SIZES", sizes)
    found = json.loads(regard("bench", "machine", "--repeats", "1", "--json", "--quiet").out)
    assert found["processor"] == describe_processor()
    assert [(row["rows"], row["inputs"], row["outputs"]) for row in found["products"]] == sizes
    for row in found["products"]:
        assert min(row["mkl"], row["onednn"], row["bfloat16"]) > 0
        assert row["library"] == ("onednn" if row["onednn"] >= 1.25 * row["mkl"] and row["error"] <= 4 else "mkl")
    shown = regard("bench", "machine", "--repeats", "1", "--quiet").lines
    assert shown[0].startswith(describe_processor())
    assert [line.split("  ")[0] for line in shown[2:4]] == ["2 × 16 × 24", "40 × 16 × 24"]
    assert [row["name"] for row in python.bench("machine", repeats=1).rows] == ["2 × 16 × 24", "40 × 16 × 24"]
