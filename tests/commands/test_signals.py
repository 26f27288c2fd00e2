"""Signals that come twice or thrice, while a library works that hears none, or where they are to be ignored."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from spoken import end
from started import PATIENCE, TRAIN, How, Started, Zygote, until

from regard.run import Run
from regard.training import loop

WORDS = [*TRAIN, "training.checkpoints.validate_every=100", "--out", "run"]
DEAF = """
from hashlib import pbkdf2_hmac
from pathlib import Path
from regard.datasets.tokenizer.bpe import Bpe
def learn(self, texts):
    Path("paused").touch()
    pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # the better part of an hour in C, without the interpreter's lock
Bpe.learn = learn
"""
SLOWLY = """
import time
from regard.training.learner import Learner
inner = Learner.step
def step(self, number, leave):
    time.sleep(0.15)
    return inner(self, number, leave)
Learner.step = step
"""
ENDLESS = """
import time
from pathlib import Path
from regard.model.mlp.mlp import Gelu
inner = Gelu.forward
def forward(self, x):
    if self.training:
        Path("paused").touch()
        time.sleep(1.5)
    return inner(self, x)
Gelu.forward = forward
"""


CLEARING = """
import time
from pathlib import Path
from regard.commands.signals import Signals
Signals().hear()
try:
    Path("ready").touch()
    time.sleep(3600)
finally:
    Path("clearing").touch()
    time.sleep(3600)  # what is half made takes long to be cleared away
"""


NOTES = """
import signal
inner = signal.signal
def noting(number, handler):
    def noted(*given):
        try:
            handler(*given)
        finally:
            with open("heard", "a") as file:
                file.write("x")
    noted.noting = True
    return inner(number, noted if callable(handler) and not hasattr(handler, "noting") else handler)
signal.signal = noting
"""


def heard(home: Path) -> int:
    """How many signals a command has heard that notes them."""
    return len((home / "heard").read_bytes()) if (home / "heard").exists() else 0


def thrice(process: Started) -> None:
    for _ in range(3):
        if process.code() is None:
            process.signal(signal.SIGINT)
            time.sleep(0.05)


@pytest.mark.parametrize("stage", ["reading", "training", "validating", "saving"])
def test_an_impatient_user_gets_130_and_no_trace_and_can_go_on(stage: str, zygote: Zygote, home: Path) -> None:
    words = [word.replace("=100", "=4") for word in WORDS]
    with zygote.regard(home, *words, how=How(stage)) as process:
        process.paused()
        thrice(process)
        process.go()
        assert process.end() in (
            130,
            -signal.SIGINT,
        )  # a shell says 130 for both
        assert process.err.decode() in ("", "regard: interrupted\n")
        assert "Traceback" not in process.said
    resumed = [*words[:-2], "--out", "run"] if stage == "reading" else ["train", "run", "--resume"]
    with zygote.regard(home, *resumed) as process:
        assert process.end() == 0, process.said
    assert end(home / "run")[0] == "step-8"
    assert not list((home / "run").rglob("*.part"))


@pytest.mark.parametrize(
    ("numbers", "code"),
    [
        ((signal.SIGTERM, signal.SIGTERM), 143),  # as some supervisors do; what is being saved is saved
        ((signal.SIGHUP, signal.SIGTERM), 129),  # as a closing session does
        ((signal.SIGTERM, signal.SIGINT), 130),  # a key pressed now means now
    ],
)
def test_a_second_signal_while_it_saves(numbers: tuple[int, int], code: int, zygote: Zygote, home: Path) -> None:
    with zygote.regard(home, *WORDS, "training.checkpoints.save_every=3", how=How("saving", code=NOTES)) as process:
        process.paused()
        for count, number in enumerate(numbers, 1):
            process.signal(number)
            until(lambda: heard(home) >= count or process.code() is not None, lambda: process.said)  # noqa: B023
        process.go()
        assert process.end() == code, process.said
        assert "Traceback" not in process.said
        assert ("Stopped at step 3" in process.out.decode()) == (code != 130)
    saved = [checkpoint.step for checkpoint in Run.open(home / "run").checkpoints()]
    assert saved == ([] if code == 130 else [3])  # whole or not at all
    with zygote.regard(home, "train", "run", "--resume") as process:
        assert process.end() == 0, process.said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_long_step_is_left_in_the_middle(number: int, zygote: Zygote, home: Path) -> None:
    """One of some minutes, in a model of thirty layers."""
    model = ["model.decoder.kind=transformer", "model.decoder.layers=30", "model.decoder.mlp=gelu", "model.width=8"]
    with zygote.regard(home, *WORDS, *model, how=How(code=ENDLESS)) as process:
        process.paused()
        process.signal(number)
        assert process.end() == 128 + number
        assert "Stopped at step 0" in process.out.decode()
    assert [checkpoint.step for checkpoint in Run.open(home / "run").checkpoints()] == [0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_library_that_hears_nothing_does_not_keep_a_signal_waiting(number: int, zygote: Zygote, home: Path) -> None:
    with zygote.regard(home, *WORDS, how=How(code=DEAF)) as process:
        process.paused()
        process.signal(number)
        assert process.end() == 128 + number
        assert len(process.err.decode().splitlines()) == 1
        assert process.at_once  # nobody waits for it
    assert not (home / "run").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_waits_for_nothing(number: int, tmp_path: Path) -> None:
    """Not even for what the first has begun to clear away."""
    command = [sys.executable, "-c", CLEARING]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, env=os.environ) as process:
        try:
            until((tmp_path / "ready").exists, lambda: "its beginning")
            process.send_signal(number)
            until((tmp_path / "clearing").exists, lambda: "the first signal to be heard")
            process.send_signal(number)
            assert process.wait(PATIENCE) == 128 + number
            assert process.stderr is not None
            assert process.stderr.read() == b""
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_import_of_torch_at_once(number: int) -> None:
    """Raised inside, it would take the process down, or be taken for an error of its own."""
    code = f"""
import os, sys, time
from importlib.machinery import ModuleSpec
from types import ModuleType
from regard.commands.signals import Signals
Signals().hear()
torch = sys.modules["torch"] = ModuleType("torch")
torch.__spec__ = ModuleSpec("torch", None)
torch.__spec__._initializing = True
try:
    os.kill(os.getpid(), {int(number)})
    time.sleep(9)
except BaseException:
    print("swallowed")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = "interrupted" if number == signal.SIGINT else "ended by SIGTERM"
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", f"regard: {said}\n")


def test_what_is_ignored_from_outside_stays_ignored(zygote: Zygote, home: Path) -> None:
    with zygote.regard(home, *WORDS, how=How("training", nth=3, ignored=[signal.SIGHUP, signal.SIGINT])) as process:
        process.paused()
        process.signal(signal.SIGHUP, signal.SIGINT)
        process.go()
        assert process.end() == 0, process.said
    assert end(home / "run")[0] == "step-8"


def test_something_is_saved_within_a_minute_whatever_the_recipe_says(zygote: Zygote, home: Path) -> None:
    assert loop.FIRST_LOOK < loop.FIRST <= 60
    how = How("training", nth=4, constants={"loop.FIRST": 0.2}, code=SLOWLY)
    with zygote.regard(home, *WORDS, "training.checkpoints.save_every=100", how=how) as process:
        process.paused()
        saved = until(lambda: list((home / "run" / "checkpoints").glob("step-*")), lambda: process.said)
        process.signal(signal.SIGKILL)
        assert process.end() == -signal.SIGKILL
    assert len(saved) == 1
    with zygote.regard(home, "train", "run", "--resume") as process:
        assert process.end() == 0, process.said


@pytest.mark.parametrize("umask", [0o022, 0o027])
def test_what_is_saved_has_the_rights_that_files_have_here(umask: int, zygote: Zygote, home: Path) -> None:
    with zygote.regard(home, *WORDS, how=How(code=f"import os; os.umask({umask})")) as process:
        assert process.end() == 0, process.said
    for path in (home / "run").rglob("*"):
        if path.is_file():
            assert path.stat().st_mode & 0o777 == 0o666 & ~umask, path
