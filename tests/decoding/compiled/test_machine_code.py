"""Machine code is made once, is one's own, and is never missed."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from regard import process
from regard.decoding.compiled import machine_code as room
from regard.decoding.compiled.machine_code import SWITCH, Code, MachineCode
from regard.disk.cache import cache, claim


@pytest.fixture(autouse=True)
def _wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SWITCH, raising=False)


@pytest.fixture
def copied(code: Code, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own that holds the machine code of this machine."""
    name = f"step-{room.digest()}.code"
    content = (cache("compiled") / name).read_bytes()
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    file = cache("compiled") / name
    assert room.private(file.parent)
    file.write_bytes(content)
    return file


@pytest.fixture
def makes_nothing(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Nothing is compiled; what would have been called is noted."""
    called: list[list[str]] = []

    class Maker(subprocess.Popen[bytes]):
        def __init__(self, words: list[str], **options: Any) -> None:
            called.append(words)
            super().__init__([sys.executable, "-c", "pass"], **options)

    monkeypatch.setattr(process.subprocess, "Popen", Maker)
    return called


def test_what_lies_in_the_cache_is_loaded_and_marked_as_used(copied: Path, makes_nothing: list[list[str]]) -> None:
    os.utime(copied, (1, 1))
    assert MachineCode().get() is not None
    assert copied.stat().st_mtime > 1
    assert not makes_nothing


@pytest.mark.parametrize("spoilt", [b"", b"name\n", b"step\nsum\n\x7fELF", b"\xff\n\n"])
def test_what_is_not_whole_is_made_again(copied: Path, makes_nothing: list[list[str]], spoilt: bytes) -> None:
    copied.write_bytes(spoilt)
    assert MachineCode().make() is None
    assert [words[-1] for words in makes_nothing] == [str(copied)]
    assert all("-P" in words for words in makes_nothing)  # a numba.py that lies about must not be run


def test_a_bit_that_fell_over_is_noticed(copied: Path, makes_nothing: list[list[str]]) -> None:
    content = bytearray(copied.read_bytes())
    content[-100] ^= 1
    copied.write_bytes(content)
    assert MachineCode().make() is None


def test_making_is_tried_once(copied: Path, makes_nothing: list[list[str]]) -> None:
    copied.unlink()
    found = MachineCode()
    assert [found.make() for _ in range(3)] == [None] * 3
    assert len(makes_nothing) == 1


def test_while_another_process_compiles_no_second_one_begins(
    copied: Path, makes_nothing: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "PAUSE", 0.0)
    content = copied.read_bytes()
    copied.unlink()
    another = claim(copied.parent)
    assert another is not None
    found = MachineCode()
    assert [found.get() for _ in range(3)] == [None] * 3
    assert not makes_nothing
    copied.write_bytes(content)
    assert found.get() is not None
    os.close(another)


def test_who_waits_for_another_process_waits_until_it_has_ended(copied: Path, makes_nothing: list[list[str]]) -> None:
    content = copied.read_bytes()
    copied.unlink()
    another = claim(copied.parent)
    assert another is not None

    def ends() -> None:
        copied.write_bytes(content)
        os.close(another)

    found = MachineCode()
    assert found.get() is None
    Timer(0.1, ends).start()
    assert found.make() is not None
    assert not makes_nothing


def test_where_another_process_failed_it_is_tried_here(copied: Path, makes_nothing: list[list[str]]) -> None:
    copied.unlink()
    another = claim(copied.parent)
    assert another is not None
    found = MachineCode()
    assert found.get() is None
    os.close(another)
    assert found.make() is None
    assert len(makes_nothing) == 1


def test_the_process_that_compiles_holds_the_folder(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied.unlink()
    wait = [sys.executable, "-c", "input()"]

    class Maker(subprocess.Popen[bytes]):
        def __init__(self, words: list[str], **options: Any) -> None:
            super().__init__(wait, **options | {"stdin": subprocess.PIPE})

    monkeypatch.setattr(process.subprocess, "Popen", Maker)
    found = MachineCode()
    assert found.get() is None
    assert found._maker is not None
    assert claim(copied.parent) is None
    found._maker.communicate(b"\n")
    free = claim(copied.parent)
    assert free is not None
    os.close(free)


@pytest.mark.parametrize("mode", [stat.S_IWGRP, stat.S_IWOTH])
def test_nobody_elses_code_is_run(copied: Path, makes_nothing: list[list[str]], mode: int) -> None:
    copied.parent.chmod(0o700 | mode)
    assert MachineCode().make() is None
    assert not makes_nothing


def test_a_link_is_not_followed(copied: Path, makes_nothing: list[list[str]], tmp_path: Path) -> None:
    copied.rename(tmp_path / "elsewhere")
    copied.symlink_to(tmp_path / "elsewhere")
    assert MachineCode().make() is None


def test_without_numba_or_by_wish_torch_does_everything(
    copied: Path, makes_nothing: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH, "0")
    assert MachineCode().make() is None
    monkeypatch.delenv(SWITCH)
    monkeypatch.setattr(room, "find_spec", lambda name: None if name == "numba" else object())
    assert MachineCode().make() is None
    assert not makes_nothing


def test_other_source_is_other_code(monkeypatch: pytest.MonkeyPatch, code: Code) -> None:
    before = room.digest()
    monkeypatch.setattr(room, "version", lambda name: f"{name} of another day")
    assert room.digest() != before


def test_nothing_is_compiled_for_somebody_with_another_source(tmp_path: Path) -> None:
    """Regard was replaced while it ran: its tables are not those of the source that lies there now."""
    from regard.decoding.compiled.source.make import make

    make(tmp_path / "step-of-another-source.code")
    assert not any(tmp_path.iterdir())
