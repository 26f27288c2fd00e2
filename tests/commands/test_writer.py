"""What a model writes: as it is to a pipe, without orders to a terminal."""

import io
import sys
from collections.abc import Iterator
from math import log
from pathlib import Path
from typing import Any, cast

import pytest

from regard.commands import prompts, writer
from regard.commands.shown import Shown
from regard.commands.surprise import Inked
from regard.commands.writer import Manner, Writer
from regard.errors import InputError
from regard.tasks.language.writing import Generated

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


def test_texts_are_numbered_over_all_that_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    class Generator:
        def __init__(self) -> None:
            self.first = list[int]()

        def stream(self, prompts: Any, *_: Any, first: int, **how: Any) -> Iterator[tuple[int, Generated]]:
            self.first.append(first)
            yield from ((place, Generated("", "text")) for place in range(how["samples"] * len(prompts)))

    generator = Generator()
    made = Writer(cast(Any, generator), Shown(True), Manner(5, 2, (), False, False, None, False))
    for some in (["a", "b"], ["c"], ["d"]):
        made.write(some)
    heads = [line for line in capsys.readouterr().out.splitlines() if line.startswith("──")]
    assert heads == [f"── text {text}, sample {sample} ──" for text in (1, 2, 3, 4) for sample in (1, 2)]
    assert generator.first == [0, 2, 3]


def test_surprise_is_marked_by_its_bits_and_says_no_orders() -> None:
    marks = "".join(Inked()("a", -bits * log(2))[1:] for bits in (0.9, 1.1, 2.9, 3.1, 5.9, 6.1, 9.9, 10.1, 99.0))
    assert marks == "·░░▒▒▓▓██"
    assert Inked()("a\x1b[31m\n\x07", 0.0) == "a\ufffd[31m\n\ufffd·"


def test_a_prompt_that_is_far_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "LONGEST", 10)
    (asked,) = prompts.asked_prompts([], [_put(tmp_path / "fits.txt", "\ufeff" + "a" * 7)], True) or ()
    assert asked.text == "a" * 7
    with pytest.raises(InputError, match=r"long.txt: over 0 MiB, and a prompt is shorter$"):
        list(prompts.asked_prompts([], [_put(tmp_path / "long.txt", "a" * 11)], True) or ())


def _put(path: Path, text: str) -> Path:
    path.write_text(text)
    return path
