"""No dead ends: what can be checked is checked before a folder is made, and a start that fails leaves nothing."""

import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from spoken import TOY, WORDS, refused, regard

from regard.datasets.tokenizer.whole import Words
from regard.training.learner import Learner

QUICK = [*WORDS, "training.steps=3"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [
        (2, ["transformer-tiny", *TOY, "model.encoder.attention.heads=3"], "heads: 3 heads do not divide width 128"),
        (2, [*QUICK, "training.checkpoints.best_by=foo"], "best_by: there is loss, bleu, chrf; given 'foo'"),
        (
            2,
            [*QUICK, "training.seed=99999999999999999999"],
            "training.seed: wanted a whole number ≥ 0 and < 9223372036",
        ),
        (2, [*QUICK, "training.seed=-1"], "training.seed: wanted a whole number ≥ 0"),
        *(
            (2, [*WORDS, f"training.{key}={value}"], f"training.{key}: wanted a {kind} ≥ 0 and ≤ {most}, given ")
            for key, value, kind, most in (
                ("minutes", "1e25", "number", 5256000),
                ("minutes", "1e308", "number", 5256000),
                ("steps", "100000000000000000000", "whole number", 10**12),
                ("epochs", "1" + "0" * 400, "whole number", 10**9),
                ("checkpoints.validate_every", "1" + "0" * 400, "whole number", 10**12),
                ("schedule.warmup_steps", "1" + "0" * 400, "whole number", 10**12),
            )
        ),
        # nothing else than the choice at hand is named
        (2, [*WORDS, "training.minutes=inf"], "training.minutes: wanted a number ≥ 0 and ≤ 5256000, given inf\n"),
        (2, [*QUICK, "training.machine.device=cuda:7"], "training.machine.device: 'cuda:7' is not there; say"),
        (2, [*QUICK, "training.machine.device=tpu"], "training.machine.device: 'tpu'"),
        (2, [*QUICK, "training.steps=0", "training.epochs=0"], "epochs and steps are both 0; say how long to train"),
        (2, [*QUICK, "task.batch_tokens=1e20"], "task.batch_tokens: wanted a whole number ≥ 1, given 1e+20"),
        (2, [*QUICK, "model.width=1000000000"], "model.width: given 1,000,000,000, and 16,777,216 is the most"),
        (2, [*QUICK, "model.width=1" + "0" * 30], "and 16,777,216 is the most"),
        (2, [*QUICK, "model.width=200000"], " GiB\nmake the model smaller: model.width, layers"),
        (2, [*QUICK, "tokenizer.vocab_size=7"], "vocab_size: wanted at least 259"),
        (
            2,
            ["transformer-tiny", *TOY, "tokenizer=words", "model.encoder.positions={kind='learned', limit=2}"],
            "model.encoder.positions.limit: 2 positions, but training texts need ",
        ),
    ],
)
def test_what_cannot_be_is_told_and_nothing_is_made(code: int, words: list[str], said: str, here: Path) -> None:
    refused(code, said, "train", *words, "--out", "runs/deep/mine")
    assert list(here.iterdir()) == []
    assert regard("train", *QUICK, "--out", "runs/deep/mine").code == 0  # the name is free


@pytest.mark.parametrize(
    ("out", "said"),
    [
        (".", ".: not empty, and a new run needs a folder of its own; choose another --out"),
        ("full", "full: not empty, and a new run needs a folder of its own; choose another --out"),
        ("file", "file: a file, and a run is a folder; choose another --out"),
        ("file/below", "file is a file, so nothing can be made below it; choose another --out"),
        ("locked/run", "locked may not be written to; choose another --out"),
    ],
)
def test_a_place_that_will_not_do_is_told_before_any_work(
    out: str, said: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "full").mkdir()
    (here / "full" / "mine.txt").write_text("mine")
    (here / "file").write_text("mine")
    (here / "locked").mkdir()
    able = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "locked" and able(path, mode))
    before = sorted(here.rglob("*"))
    done = regard("train", *QUICK, "--out", out)
    assert (done.code, done.out) == (3, "")
    assert said in done.err
    assert sorted(here.rglob("*")) == before


def disk_full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupt(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGINT)


def break_down(*_: object, **__: object) -> None:
    raise RuntimeError("out of luck")


PLACES: dict[str, tuple[object, str]] = {
    "learning the vocabulary": (Words, "learn"),
    "writing the run": ("regard.run.create.write", ""),
    "the first step": (Learner, "step"),
}
FAILURES: dict[str, tuple[Callable[..., None], int]] = {
    "a full disk": (disk_full, 1),
    "^C": (interrupt, 130),
    "a bug": (break_down, 1),
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("place", PLACES)
def test_a_start_that_fails_leaves_nothing_behind(
    place: str, failure: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (place, failure) == ("the first step", "^C"):
        pytest.skip("then there is a run, and it is saved")
    (target, name), (fails, code) = PLACES[place], FAILURES[failure]
    with monkeypatch.context() as patch:
        patch.setattr(target, name, fails) if name else patch.setattr(str(target), fails)
        done = regard("train", *QUICK, "--out", "runs/mine", "tokenizer.lowercase=true")  # a vocabulary not yet learnt
    assert done.code == code
    assert "Traceback" not in done.err
    assert [path for path in here.iterdir() if path.name != "runs"] == []
    assert not (here / "runs" / "mine").exists()
    assert regard("train", *QUICK, "--out", "runs/mine").code == 0


def test_a_disk_that_fills_up_while_saving_is_told_and_nothing_half_written_stays(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("regard.disk.tensors.save_file", disk_full)
        done = regard("train", *QUICK, "--out", "run")
    assert done.code == 1
    assert (
        "run: the disk is full; what was saved before is whole. Make room, then try again, a training with" in done.err
    )
    assert not list(here.rglob("*.part"))
    assert " stopped" in regard("runs", "run").out
    refused(3, "run: nothing was saved in it yet; `regard train run --resume` goes on", "translate", "run", "a")
    done = regard("train", "run", "--resume")
    assert (done.code, "nothing was saved in it yet; it begins again" in done.out) == (0, True)
    assert regard("translate", "run", "a").code == 0


def test_weights_without_state_are_used_and_begun_from(run: Path) -> None:
    for state in run.rglob("state.safetensors"):
        state.unlink()
    assert regard("translate", str(run), "a b").code == 0
    said = f"weights without the state of training (state.safetensors); begin a new run from its weights: from={run}"
    refused(3, said, "train", str(run), "--resume")
    assert regard("train", f"from={run}", "training.steps=1", "--out", "new").code == 0


def test_a_damaged_cache_is_said_and_made_again(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(here / "cache"))
    assert regard("train", *QUICK, "--out", "one").code == 0
    for file in (here / "cache" / "encoded").rglob("ids"):
        file.write_bytes(file.read_bytes()[:-3])
    done = regard("train", *QUICK, "--out", "two")
    assert (done.code, done.err) == (0, "")
    assert "is not what was written); encoding again" in done.out
    weights = [next(Path(name).rglob("weights.safetensors")).read_bytes() for name in ("one", "two")]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("files", ["[[1]]", "[]", '"x"', '["../x"]'])
def test_a_folder_that_says_odd_things_of_itself_is_taken_or_refused(files: str, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "run.json").write_text(f'{{"files": {files}}}')
    assert regard("train", *WORDS, "training.steps=1", "--out", str(tmp_path / "new")).code == 0
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.json").write_text(f'{{"files": {files}}}')
    (tmp_path / "other" / "mine").write_text("mine")
    refused(3, "not empty", "train", *WORDS, "--out", str(tmp_path / "other"))
