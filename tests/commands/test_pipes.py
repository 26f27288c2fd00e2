"""A pipe into regard translate is answered as lines come, and ends in peace; real processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from spoken import Done, regard

from regard.commands.waiting import waiting


@contextmanager
def piped(*words: str) -> "Iterator[subprocess.Popen[bytes]]":
    """The command with a pipe that stays open until we close it."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-m", "regard", *words], env=environment, **pipes)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()


def ask(process: "subprocess.Popen[bytes]", line: bytes) -> str:
    """One line in, one line out; the pipe stays open."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line)
    process.stdin.flush()
    return process.stdout.readline().decode().rstrip("\n")


def test_every_line_is_answered_before_the_next_is_sent(trained: tuple[Path, Done]) -> None:
    texts = ["a b c", "", "d e", "f"]
    spoken = regard("translate", str(trained[0]), *texts).lines
    with piped("translate", str(trained[0])) as process:
        for text, answer in zip(texts, spoken, strict=True):
            assert ask(process, f"{text}\n".encode()) == answer
        out, err = process.communicate(b"c b a")  # a last line need not end
        assert out.decode() == regard("translate", str(trained[0]), "c b a").out
        assert (err, process.returncode) == (b"", 0)


def test_an_open_pipe_is_interrupted_without_a_trace(trained: tuple[Path, Done]) -> None:
    """While it waits for a line that never comes."""
    with piped("translate", str(trained[0])) as process:
        assert ask(process, b"a b\n")
        process.send_signal(signal.SIGINT)
        process.wait(60)
        assert process.stderr is not None
        assert (process.returncode, process.stderr.read()) == (130, b"regard: interrupted\n")


def test_what_is_wrong_with_a_line_is_told_while_the_pipe_is_open(trained: tuple[Path, Done]) -> None:
    with piped("translate", str(trained[0])) as process:
        assert ask(process, b"a b\n")
        ask(process, b"\xff\n")
        assert ask(process, b"a b\n")
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)
        assert process.stderr is not None
        said = "the pipe: line 2: not UTF-8: what cannot be read is taken as \ufffd\n"
        assert (process.returncode, process.stderr.read().decode()) == (0, said)


def test_whoever_reads_may_go_away(trained: tuple[Path, Done]) -> None:
    with piped("translate", str(trained[0])) as process:
        assert ask(process, b"a b\n")
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.close()
        process.stdin.write(b"a b\nc\n")
        process.stdin.close()
        process.wait(60)
        assert process.stderr is not None
        assert (process.returncode, process.stderr.read()) == (141, b"")


def test_what_waits_is_answered_together_and_no_more_than_may_be() -> None:
    lines = [str(number) for number in range(10)]
    groups = list(waiting(iter(lines), 4))
    assert [line for group in groups for line in group] == lines
    assert max(map(len, groups)) <= 4
    assert list(waiting(iter([]), 4)) == []


def test_what_came_before_an_error_is_answered_first() -> None:
    def broken() -> Iterator[str]:
        yield "a"
        raise ValueError("no more")

    groups = waiting(broken(), 4)
    assert next(groups) == ["a"]
    with pytest.raises(ValueError, match=r"^no more$"):
        next(groups)
