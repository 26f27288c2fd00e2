"""Training on a terminal, as a person sees it: one live line that neither wraps, doubles nor stands still."""

import re
import signal
from pathlib import Path

import pytest
from screen import Screen
from spoken import end
from started import TRAIN, How, Zygote, until

STAGES = ("starting", "reading", "learning the vocabulary", "encoding", "step 1/8", "validating")
STAGES += ("answering", "scoring", "saving")
WORDS = [*TRAIN, "training.checkpoints.validate_every=4", "--out", "run"]
EAGER = {"live.OFTEN": 0.0}  # every state is shown
SLOWLY = """
from threading import Event
from regard.datasets.tokenizer import bpe, trainer
import regard.apart
regard.apart.TICK = 0.01
inner = trainer.ByteTrainer.train
def slowly(self, texts, tick):
    told = Event()
    def ticked():
        tick()
        told.set()
    def late():
        yield from texts
        told.clear()
        told.wait()
    return inner(self, late(), ticked)
trainer.ByteTrainer.train = slowly
"""


def shown(zygote: Zygote, home: Path, columns: int, *words: str, **environment: str) -> Screen:
    how = How(columns=columns, constants=EAGER, code=SLOWLY, environment=environment)
    with zygote.regard(home, *WORDS, *words, how=how) as process:
        assert process.end() == 0, process.said
        return Screen.of(bytes(process.out), columns)


@pytest.mark.parametrize("columns", [80, 40, 20])
def test_every_stage_is_shown_in_one_row_and_nothing_of_it_stays(columns: int, zygote: Zygote, home: Path) -> None:
    screen = shown(zygote, home, columns)
    for stage in STAGES:
        assert any(stage in state for state in screen.live) or columns < 40, (stage, screen.live)
    assert screen.broken == 0
    assert max(map(len, screen.live)) <= columns - 4  # there is room for ^C
    assert screen.full_bars() == []
    assert any("━" in state for state in screen.live) or columns < 40
    lines = screen.text.splitlines()
    assert not any(line.startswith(("starting", "reading", "learning", "encoding", "step 1/8")) for line in lines)
    assert screen.text.count("validation:") == 2
    assert "regard evaluate run" in screen.text


@pytest.mark.parametrize("columns", [80, 40])
def test_lines_end_between_words_and_what_can_be_copied_stays_whole(columns: int, zygote: Zygote, home: Path) -> None:
    folder = "runs/a-rather-long-name-for-a-run-folder"
    screen = shown(zygote, home, columns, "--out", folder)
    assert f"regard translate {folder} 'your text'" in screen.text.replace("\n", "")
    said = "scores of so few will be rough: raise data.valid_share or name a file in data.valid"
    assert said in " ".join(screen.text.split())  # the terminal broke none of the words
    assert screen.colours > 0


def test_how_far_reading_has_come_is_shown_while_it_lasts(zygote: Zygote, home: Path) -> None:
    for side in ("c.de", "c.en"):
        (home / side).write_text((home / side).read_text() * 12)
    screen = shown(zygote, home, 80)
    far = [state for state in screen.live if re.match(r"reading the data  [1-4],\d{3}/[\d,]+", state)]
    assert len(far) >= 3
    assert len(set(far)) == len(far)


def test_no_color_is_heeded(zygote: Zygote, home: Path) -> None:
    screen = shown(zygote, home, 80, NO_COLOR="1")
    assert screen.colours == 0
    assert any("answering" in state for state in screen.live)


@pytest.mark.parametrize("terminal", ["dumb", "unknown", ""])
def test_a_terminal_that_cannot_go_back_gets_plain_lines(terminal: str, zygote: Zygote, home: Path) -> None:
    screen = shown(zygote, home, 80, TERM=terminal)
    assert screen.live == []
    assert screen.rows[0].startswith("reading the data")
    assert "step 8/8  loss" in screen.text


def test_a_pipe_gets_plain_lines_without_a_single_order(zygote: Zygote, home: Path) -> None:
    with zygote.regard(home, *WORDS) as process:
        assert process.end() == 0
        out = process.out.decode()
    assert not set("\r\x1b") & set(out)
    assert out.splitlines()[0] == "reading the data"
    assert [line for line in out.splitlines() if line.startswith("step 8/8  loss")]
    longest = max(out.splitlines(), key=len)  # lines are not cut in a pipe
    assert longest.startswith("test: none; ")
    assert longest.endswith("holds some of train out")


@pytest.mark.parametrize(
    ("stage", "columns"), [("reading", 80), ("encoding", 40), ("training", 40), ("validating", 80), ("saving", 40)]
)
def test_an_interrupt_key_leaves_one_line_and_no_second_progress_line(
    stage: str, columns: int, zygote: Zygote, home: Path
) -> None:
    how = How(stage, nth=3 if stage == "training" else 1, columns=columns, constants=EAGER)
    with zygote.regard(home, *WORDS, how=how) as process:
        process.paused()
        process.type(b"\x03")
        until(lambda: b"^C" in process.out, lambda: process.said)
        process.go()
        assert process.end() == 130, process.said
        screen = Screen.of(bytes(process.out), columns)
    assert screen.broken == 0
    last = screen.text.splitlines()
    if stage in ("reading", "encoding"):
        assert last == ["regard: interrupted"]
    else:
        assert screen.text.count("Stopped at step") == 1
        assert last[-1].endswith("regard train run --resume")
    for word in ("^C", "reading", "encoding the", "answering", "saving  0:", "left  "):
        assert word not in screen.text, screen.text


def test_a_terminal_that_hangs_up_saves(zygote: Zygote, home: Path) -> None:
    with zygote.regard(home, *WORDS, how=How("training", nth=3, columns=80, constants=EAGER)) as process:
        process.paused()
        process.nobody_reads()
        process.go()
        assert process.end() == 129
    with zygote.regard(home, "train", "run", "--resume") as process:
        assert process.end() == 0, process.said
        assert "going on at step 3 of 8" in process.out.decode()


def test_under_nohup_it_goes_on_though_the_terminal_hangs_up(zygote: Zygote, home: Path) -> None:
    how = How("training", nth=3, columns=80, constants=EAGER, ignored=[signal.SIGHUP])
    with zygote.regard(home, *WORDS, how=how) as process:
        process.paused()
        process.nobody_reads()
        process.go()
        assert process.end() == 0
    assert end(home / "run")[0] == "step-8"
