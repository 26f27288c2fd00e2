"""^C, SIGTERM, SIGHUP and a closed pipe, at every stage of training: saved, one line, the right code, no trace."""

import signal
from pathlib import Path

import pytest
from spoken import end
from started import TRAIN, How, Started, Zygote, corpus, until

from regard.run import Run

BEFORE, AFTER = ("reading", "vocabulary", "encoding", "preparing"), ("training", "validating", "saving")
GONE = signal.SIGPIPE  # in place of a signal: whoever reads goes away
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, GONE)
SAID = {
    signal.SIGINT: "regard: interrupted\n",
    signal.SIGTERM: "regard: ended by SIGTERM\n",
    signal.SIGHUP: "regard: ended by SIGHUP\n",
    GONE: "",
}
WHY = {signal.SIGINT: "", signal.SIGTERM: " by SIGTERM", signal.SIGHUP: " by SIGHUP"}
OFTEN = {"Gap.FIRST": 0.0, "Gap.MORE": 0.0}  # a plain line at every step, so that a closed pipe is noticed
WHOLE = [*TRAIN, "training.checkpoints.validate_every=4", "training.checkpoints.save_every=3", "--out", "run"]
RESUME = ["train", "run", "--resume"]


@pytest.fixture(scope="module")
def whole(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a run that nobody interrupted."""
    home = corpus(tmp_path_factory.mktemp("whole"))
    with zygote.regard(home, *WHOLE) as process:
        assert process.end() == 0, process.said
    return home


def interrupted(process: Started, number: int) -> int:
    """Its code, after a signal or a closed pipe in the stage at which it waits."""
    process.paused()
    process.nobody_reads() if number == GONE else process.signal(number)
    process.go()
    return process.end()


def left(home: Path) -> set[str]:
    """What is there beside the data: no part of a run, nothing half encoded."""
    for cached in (home / "cache").rglob("*"):
        assert not cached.name.startswith(".regard-"), cached
    return {path.name for path in home.iterdir()} - {"c.de", "c.en", "cache", "paused", "go", "at-once"}


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("stage", BEFORE)
def test_before_there_is_a_run_nothing_is_left_and_one_line_is_said(
    stage: str, number: signal.Signals, zygote: Zygote, home: Path
) -> None:
    with zygote.regard(home, *WHOLE, how=How(stage)) as process:
        assert interrupted(process, number) == 128 + number, process.said
        assert process.err.decode() == SAID[number]
        assert left(home) == set()


SLOW = """
import hashlib
from pathlib import Path
from regard.tasks.translation.shortlist import Shortlist
def learn(*_):
    Path("learning").touch()
    hashlib.pbkdf2_hmac("sha256", b"x", b"x", 2**31 - 1)
Shortlist.learn = learn
"""


def test_what_a_library_learns_for_the_run_is_not_waited_for(zygote: Zygote, home: Path) -> None:
    """Python hears no signal while C works in its main thread; this takes the better part of an hour."""
    with zygote.regard(home, *WHOLE, how=How(code=SLOW)) as process:
        until((home / "learning").exists, lambda: f"it to learn; {process.said}")
        process.signal(signal.SIGTERM)
        assert process.end() == 128 + signal.SIGTERM, process.said
        assert process.at_once  # nobody waits for it
        assert left(home) == {"learning"}


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("stage", AFTER)
def test_once_there_is_a_run_it_is_saved_and_resumed_to_the_same_weights(
    stage: str, number: signal.Signals, zygote: Zygote, home: Path, whole: Path
) -> None:
    with zygote.regard(home, *WHOLE, how=How(stage, nth=3 if stage == "training" else 1, constants=OFTEN)) as process:
        assert interrupted(process, number) == 128 + number, process.said
        out, err = process.out.decode(), process.err.decode()
    step = Run.open(home / "run").checkpoints()[0].step
    assert 0 < step < 8
    if number == GONE:
        assert err == (
            f"Stopped at step {step}, as nobody reads this any more; all is saved. Go on: regard train run --resume\n"
        )
    else:
        assert out.count("Stopped at") == 1
        assert out.splitlines()[-1] == (
            f"Stopped at step {step}{WHY[number]}; all is saved. Go on: regard train run --resume"
        )
        assert err == ""
    with zygote.regard(home, *RESUME) as process:
        assert process.end() == 0, process.said
        assert f"going on at step {step} of 8 steps" in process.out.decode()
    assert end(home / "run") == end(whole / "run")
    assert left(home) == {"run"}
    assert not list((home / "run").rglob("*.part"))
