"""`-` is the pipe, and a pipe that is closed keeps no file from being written."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import pytest

from regard.commands.asked import PIPE, asked_lines
from regard.commands.look import _asked
from regard.commands.prompts import asked_prompts
from regard.commands.streams import Unread


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Un chien.\nUn chat.\n")))


def test_a_dash_alone_is_the_pipe(pipe: None) -> None:
    assert [one.text for one in asked_lines(["-"], [])] == ["Un chien.", "Un chat."]


def test_a_dash_alone_is_the_pipe_of_prompts(pipe: None) -> None:
    assert [one.text for one in asked_prompts(["-"], [], whole=False) or ()] == ["Un chien.", "Un chat."]


def test_a_dash_alone_is_the_pipe_as_one_prompt(pipe: None) -> None:
    assert [one.text for one in asked_prompts(["-"], [], whole=True) or ()] == ["Un chien.\nUn chat.\n"]


def test_a_dash_is_the_pipe_to_look_at(pipe: None) -> None:
    assert _asked("-", None, 0) == "Un chien.\nUn chat."


def test_a_dash_among_texts_is_a_text() -> None:
    assert [one.text for one in asked_lines(["-", "a"], [])] == ["-", "a"]
    assert Path("-") == PIPE


@contextmanager
def closed() -> Iterator[None]:
    """Standard output is a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as stream, redirect_stdout(stream):
        yield


def test_work_goes_on_when_nobody_reads_its_lines() -> None:
    done = list[int]()
    with pytest.raises(SystemExit) as ended, closed(), Unread() as unread:
        for number in range(3):
            with unread.lines():
                print(number, flush=True)
            done.append(number)
    assert (done, ended.value.code) == ([0, 1, 2], 141)


def test_without_files_there_is_nothing_to_go_on_for() -> None:
    with pytest.raises(BrokenPipeError), closed(), Unread(files=False) as unread, unread.lines():
        print("a", flush=True)


def test_an_attention_is_measured_and_written_down_though_nobody_reads(tmp_path: Path) -> None:
    from regard.commands.bench import attention

    with pytest.raises(SystemExit) as ended, closed():
        attention("16", "window", 1, 8, 4, 1, 1, 12.0, tmp_path / "att", quiet=True)
    assert ended.value.code == 141
    assert sorted(path.name for path in tmp_path.iterdir()) == ["att.json", "att.png", "att.svg"]
