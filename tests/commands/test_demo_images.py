"""regard demo images: a small Vision Transformer learns, answers, and leaves a picture of where it looked."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contracts.small import unchecked
from spoken import regard

from regard.commands.demos import images
from regard.run import Run
from regard.training import train

QUICK = ["training.steps=2", "model.body.width=16", "model.body.encoder.layers=1", "task.batch_images=16"]
FEW = ["data.train_images=68", "data.valid_images=34", "data.test_images=34"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The same recipe, for two steps on a few letters."""
    real = train.training

    def shorter(name: str, *overrides: Any, **named: Any) -> Iterator[Any]:
        return real(name, *QUICK, *FEW, *overrides, **named)

    monkeypatch.setattr(train, "training", shorter)
    monkeypatch.setattr(images, "APART", 7)
    with unchecked():
        yield


def test_it_learns_answers_and_shows_where_it_looked(tmp_path: Path) -> None:
    done = regard("demo", "images", "--out", str(tmp_path))
    assert (done.code, done.err) == (0, "")
    run = tmp_path / "glyphs-vit"
    assert (run / "looks.png").read_bytes()[:4] == b"\x89PNG"
    assert Run.open(run).facts["commands"] == [f"regard demo images --out {tmp_path}"]
    for said in ("of 34 letters it has never seen", "it says", "looks.png", f"regard classify {run} IMAGE"):
        assert said in done.out, said
    assert max(map(len, done.lines)) <= 200
    again = regard("demo", "images", "--out", str(tmp_path))
    assert "is there from an earlier demo" in again.out


def test_machines_get_lines(tmp_path: Path) -> None:
    done = regard("demo", "images", "--out", str(tmp_path), "--json")
    assert done.code == 0, done.err
    last = json.loads(done.lines[-1])
    assert last["event"] == "demo"
    assert len(last["read"]) == 5
    assert last["picture"].endswith("looks.png")
    assert "accuracy" in last["runs"]["glyphs-vit"]
