"""What a model writes: as it is to a pipe, without orders to a terminal."""

import io
import sys

import pytest

from regard.commands import writer

WRITTEN = "a\x1b[31m\x9b2J\x07\x00b\r\n\té"


class Screen(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_no_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    writer._out(WRITTEN)
    assert screen.getvalue() == "a\ufffd[31m\ufffd2J\ufffd\ufffdb\ufffd\n\té"


def test_a_pipe_gets_all(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO(newline="")
    monkeypatch.setattr(sys, "stdout", pipe)
    writer._out(WRITTEN)
    assert pipe.getvalue() == WRITTEN
