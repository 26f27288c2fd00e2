"""regard demo: it makes runs and pictures, and touches nothing that it did not make."""

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from spoken import Done, regard

from regard.looking.surprise import Surprise
from regard.run import Run
from regard.training import train
from regard.training.events import Step

QUICK = ["training.steps=2", "model.width=16"]
FEW = ["data.train=40", "data.valid=5", "data.test=20"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same recipes, for two steps."""
    real = train.training

    def shorter(name: str, *overrides: Any, **named: Any) -> Iterator[Any]:
        few = FEW if "numbers" in name else []
        return real(name, *QUICK, *few, *overrides, **named)

    monkeypatch.setattr(train, "training", shorter)


def demo(out: Path, *words: str) -> Done:
    return regard("demo", "--out", str(out), *words)


def test_two_models_learn_and_one_is_looked_at(tmp_path: Path) -> None:
    done = demo(tmp_path)
    assert (done.code, done.err) == (0, "")
    picture = tmp_path / "numbers-transformer" / "alignment.png"
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert str(picture) in done.out
    assert f"regard evaluate {tmp_path / 'numbers-transformer'}" in done.out
    for name in ("numbers-gru", "numbers-transformer"):
        assert Run.open(tmp_path / name).facts["commands"] == [f"regard demo --out {tmp_path}"]


def test_with_what_the_demo_made_it_goes_on(tmp_path: Path) -> None:
    """Nothing that was trained or kept is thrown away."""
    demo(tmp_path)
    run = tmp_path / "numbers-gru"
    (run / "translations.csv").write_text("mine")
    before = Run.open(run).checkpoints()[0].folder.stat().st_ino
    done = demo(tmp_path)
    assert done.code == 0
    assert f"{run} is there from an earlier demo; remove it to begin from nothing." in done.out
    assert Run.open(run).checkpoints()[0].folder.stat().st_ino == before
    assert (run / "translations.csv").read_text() == "mine"
    assert (run / "curve.png").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["numbers-gru", "numbers-transformer"]


def test_what_somebody_else_made_stays(trained: tuple[Path, Done], tmp_path: Path) -> None:
    mine = Path(shutil.copytree(trained[0], tmp_path / "numbers-gru"))
    (tmp_path / "numbers-transformer").mkdir()
    (tmp_path / "numbers-transformer" / "notes.txt").write_text("mine")
    before = {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()}
    done = demo(tmp_path)
    assert done.code == 0
    assert f"{mine} is not the demo's and stays as it is; this one goes to {mine}-2." in done.out
    assert {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()} == before
    assert [path.name for path in (tmp_path / "numbers-transformer").iterdir()] == ["notes.txt"]
    assert Run.open(tmp_path / "numbers-transformer-2").checkpoints()


def test_a_link_to_a_demo_run_is_not_followed(tmp_path: Path) -> None:
    demo(tmp_path / "first")
    run = tmp_path / "first" / "numbers-gru"
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "numbers-gru").symlink_to(run)
    assert demo(tmp_path / "second", "--quiet").code == 0
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before
    assert Run.open(tmp_path / "second" / "numbers-gru-2").checkpoints()


def test_a_demo_run_that_was_trained_further_stays(tmp_path: Path) -> None:
    demo(tmp_path)
    run = Run.open(tmp_path / "numbers-gru")
    run.note(commands=[*run.facts["commands"], "regard train out/demo/numbers-gru --resume training.steps=9"])
    assert demo(tmp_path, "--quiet").code == 0
    assert len(Run.open(run.folder).facts["commands"]) == 2
    assert (tmp_path / "numbers-gru-2" / "best").is_file()


def test_it_speaks_to_machines(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in demo(tmp_path, "--json").lines]
    assert {row["event"] for row in rows} >= {"prepared", "started", "step", "ended", "demo"}
    assert set(rows[-1]["runs"]) == {"numbers-gru", "numbers-transformer"}
    assert rows[-1]["runs"]["numbers-gru"]["scored"]["split"] == "test"
    assert Path(rows[-1]["picture"]).is_file()


def test_a_signal_saves_and_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = train.training

    def asked(*given: Any, **named: Any) -> Iterator[Any]:
        for event in real(*given, **named):
            yield event
            if isinstance(event, Step) and event.number == 1:
                signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(train, "training", asked)
    done = demo(tmp_path)
    assert done.code == 143
    assert "Stopped at step 1 by SIGTERM; all is saved." in done.out
    assert [one.step for one in Run.open(tmp_path / "numbers-gru").checkpoints()] == [1]
    assert not (tmp_path / "numbers-transformer").exists()


def test_a_small_gpt_writes_and_shows_its_surprise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Surprise] = []
    draw = Surprise.draw
    monkeypatch.setattr(Surprise, "draw", lambda self, *given: shown.append(self) or draw(self, *given))
    done = regard("demo", "text", "--out", str(tmp_path))
    assert (done.code, done.err) == (0, "")
    run = tmp_path / "text-gpt"
    assert (run / "surprise.png").read_bytes()[:4] == b"\x89PNG"
    assert str(run / "surprise.png") in done.out
    assert "bits per character" in done.out
    read = "".join(letter for letter, _ in shown[0].tokens)
    scored = json.loads(regard("score", str(run), read, "--json").out)
    bits = scored["bits_per_byte"] * len(read.encode())  # of ASCII, a token of one byte for each letter
    assert shown[0].bits == pytest.approx(bits, rel=1e-4)
    assert "\nThe for statement" in done.out
    assert f"regard generate {run} 'Classes can' --slide --probabilities" in done.out
    assert Run.open(run).facts["commands"] == [f"regard demo text --out {tmp_path}"]
    rows = [json.loads(line) for line in regard("demo", "text", "--out", str(tmp_path), "--json").lines]
    assert set(rows[-1]["runs"]) == {"text-gpt"}
    assert len(rows[-1]["written"]) > 100
    assert Path(rows[-1]["picture"]).is_file()


def test_a_tour_that_there_is_not_is_refused() -> None:
    done = regard("demo", "txt")
    assert done.code == 2
    assert "'translation', 'text'" in done.err
