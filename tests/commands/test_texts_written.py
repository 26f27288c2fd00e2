"""Texts as they are written by a command: at once, into a pipe that closes, in colours."""

import re
from pathlib import Path

import pytest
from spoken import regard
from started import How, Zygote, until
from test_language_commands import HEAD, MODEL, TEXT

from regard.commands.surprise import MARKS

PLAIN = {"REGARD_COMPILED": "0"}
NO_NUMBA = "import sys; sys.modules['numba'] = sys.modules['llvmlite'] = None"
WAITS = """
from pathlib import Path
from time import sleep
from regard.decoding.sample import OneByOne
choose, left = OneByOne.choose, list(range(6))
def waits(*given):
    if left and left.pop() == 0:
        Path("paused").touch()
        while not Path("go").exists():
            sleep(0.01)
    return choose(*given)
OneByOne.choose = waits
"""
GONE = "import os; r, w = os.pipe(); os.close(r); os.dup2(w, 1)"
WRITE = ["generate", "RUN", "The fox", "-n", "12", "--greedy", "--set", "decoding.min_length=12"]
SCORE = ["score", "RUN", "The fox", "no"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("writing")
    (folder / "text.txt").write_text(TEXT)
    (folder / "fox.toml").write_text(HEAD.replace("{text}", str(folder / "text.txt")) + MODEL)
    assert regard("train", str(folder / "fox.toml"), "training.steps=5", "--out", str(folder / "run"), "-q").code == 0
    return folder / "run"


def words(asked: list[str], run: Path) -> list[str]:
    return [word.replace("RUN", str(run)) for word in asked]


def test_a_text_is_there_as_it_is_written(written: Path, zygote: Zygote, tmp_path: Path) -> None:
    with zygote.regard(tmp_path, *words(WRITE, written), how=How(code=WAITS, environment=PLAIN)) as process:
        process.paused()
        until(lambda: len(process.out) >= len("The fox") + 5, lambda: process.said)
        so_far = bytes(process.out).decode()
        process.go()
        assert process.end() == 0, process.said
    assert so_far.startswith("The fox")
    assert len(so_far) == len("The fox") + 5
    whole = process.out.decode()
    assert whole.startswith(so_far)
    assert len(whole.rstrip("\n")) == len("The fox") + 12


@pytest.mark.parametrize("more", [[], ["--int8"], ["--draft", "RUN"]], ids=" ".join)
def test_without_numba_the_same_is_written(more: list[str], written: Path, zygote: Zygote, tmp_path: Path) -> None:
    asked = words([*WRITE, *more], written)
    with zygote.regard(tmp_path, *asked, how=How(code=NO_NUMBA)) as process:
        assert process.end() == 0, process.said
    assert process.out.decode() == regard(*asked).out


@pytest.mark.parametrize("asked", [WRITE, SCORE], ids=["generate", "score"])
def test_whoever_reads_may_go_away(asked: list[str], written: Path, zygote: Zygote, tmp_path: Path) -> None:
    with zygote.regard(tmp_path, *words(asked, written), how=How(code=GONE, environment=PLAIN)) as process:
        assert process.end() == 141, process.said
    assert process.err == b""


@pytest.mark.parametrize("asked", [WRITE, [*WRITE, "--probabilities"], SCORE], ids=["plain", "marked", "score"])
def test_texts_are_told_in_ascii_where_there_is_nothing_else(
    asked: list[str], written: Path, zygote: Zygote, tmp_path: Path
) -> None:
    ascii_only = How(environment=PLAIN | {"PYTHONIOENCODING": "ascii"})
    with zygote.regard(tmp_path, *words(asked, written), how=ascii_only) as process:
        assert process.end() == 0, process.said
    assert (process.out + process.err).isascii()
    assert b"The" in process.out


@pytest.mark.parametrize("colours", [True, False])
def test_surprise_has_colours_on_a_terminal(colours: bool, written: Path, zygote: Zygote, tmp_path: Path) -> None:
    environment = PLAIN | ({} if colours else {"NO_COLOR": "1"})
    plain = regard(*words(WRITE, written))
    with zygote.regard(
        tmp_path, *words(WRITE, written), "--probabilities", how=How(columns=80, environment=environment)
    ) as process:
        assert process.end() == 0, process.said
    shown = process.out.decode().replace("\r\n", "\n")
    inked = re.findall(r"\x1b\[38;5;(\d+)m([^\x1b]*)\x1b\[0m", shown)
    text = plain.out.rstrip("\n").removeprefix("The fox")
    assert bool(inked) == colours
    if colours:
        assert "".join(letters for _, letters in inked).startswith(text)
        assert len({colour for colour, _ in inked}) == len(MARKS)  # the legend has them all
    else:
        assert "38;5" not in shown
        assert sum(shown.count(mark) for mark in MARKS) == 12 + len(MARKS)
