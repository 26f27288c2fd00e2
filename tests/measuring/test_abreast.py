"""Rows of a benchmark: each is done once, kept as it comes, and gone on with where it was cut short."""

import json
from pathlib import Path

import pytest

import abreast
from abreast import Results, Row
from regard.errors import FailedError


def test_what_is_done_is_kept_and_not_done_again(tmp_path: Path) -> None:
    results, done = Results(tmp_path / "out"), list[int]()

    def double(row: Row) -> Row:
        done.append(row["number"])
        return {"twice": 2 * row["number"]}

    results.work([{"number": number} for number in range(4)], double, abreast=2)
    assert sorted(done) == [0, 1, 2, 3]
    Results(tmp_path / "out").work([{"number": number} for number in range(6)], double, abreast=1)
    assert sorted(done) == [0, 1, 2, 3, 4, 5]
    found = {row["number"]: row["twice"] for row in results.rows()}
    assert found == {number: 2 * number for number in range(6)}


def test_what_fails_is_told_and_what_was_done_is_kept(tmp_path: Path) -> None:
    def odd(row: Row) -> Row:
        if row["number"] == 2:
            raise FailedError("two is even")
        return {}

    with pytest.raises(FailedError, match="two is even"):
        Results(tmp_path).work([{"number": number} for number in (1, 2, 3)], odd, abreast=1)
    assert Results(tmp_path).rows() == [{"number": 1}]


def test_a_run_that_was_cut_short_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = list[tuple[str, ...]]()
    monkeypatch.setattr(abreast, "regard", lambda *words: said.append(words))
    abreast.train(["vit-32"], tmp_path)
    (tmp_path / "recipe.toml").touch()
    abreast.train(["vit-32"], tmp_path)
    assert said == [
        ("train", "vit-32", "--out", str(tmp_path), "--quiet"),
        ("train", str(tmp_path), "--resume", "--quiet"),
    ]


def test_speed_is_that_of_steps_after_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[Row] = [
        {"step": 0, "data": {}, "seconds": 0.0},
        {"step": 10, "loss": 1.0, "seconds": 9.0},
        {"step": 20, "loss": 1.0, "seconds": 11.5},
        {"step": 30, "loss": 1.0, "seconds": 14.0},
    ]

    def trained(words: list[str], folder: Path) -> None:
        folder.mkdir()
        (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    monkeypatch.setattr(abreast, "train", trained)
    assert abreast.speed(["vit-32"], tmp_path / "trial") == 4.0
    assert abreast.speed(["vit-32"], tmp_path / "trial") == 4.0  # an older measurement is in nobody's way
