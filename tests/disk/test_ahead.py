"""Checksums that are found while something else is done: the same, and never those of what a file was before."""

import hashlib
from pathlib import Path

import pytest

from regard.disk import ahead, checksum


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "weights").write_bytes(b"numbers" * 100_000)
    return tmp_path / "weights"


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every checksum that is found, and by whom."""
    seen = list[str]()
    kept = ahead.taken

    def told(opened: object) -> object:
        begun = kept(opened)  # type: ignore[arg-type]
        seen.append("now" if begun is None else "ahead")
        return begun

    monkeypatch.setattr(ahead, "taken", told)
    return seen


def test_what_was_begun_is_given_once(file: Path, found: list[str]) -> None:
    right = hashlib.sha256(file.read_bytes()).hexdigest()
    ahead.begin(file, 0)
    assert [checksum(file), checksum(file)] == [right, right]
    assert found == ["ahead", "now"]


def test_a_file_that_was_written_to_since_is_read_again(file: Path, found: list[str]) -> None:
    ahead.begin(file, 0)
    content = b"Numbers" * 100_000
    assert len(content) == file.stat().st_size
    while True:  # until the clock of the disk has moved on
        before = file.stat().st_mtime_ns
        file.write_bytes(content)
        if file.stat().st_mtime_ns != before:
            break
    assert checksum(file) == hashlib.sha256(content).hexdigest()
    assert found == ["now"]


def test_another_file_in_its_place_is_read(file: Path, found: list[str]) -> None:
    ahead.begin(file, 0)
    other = file.with_name("other")
    other.write_bytes(b"numberS" * 100_000)
    other.rename(file)
    assert checksum(file) == hashlib.sha256(b"numberS" * 100_000).hexdigest()
    assert found == ["now"]


def test_what_goes_wrong_ahead_is_told_to_who_waits(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(hashlib, "file_digest", full)
    ahead.begin(file, 0)
    with pytest.raises(MemoryError):
        checksum(file)


def test_nobody_waits_for_a_thread_that_never_began(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(self: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as without:
        without.setattr("regard.disk.ahead.Thread.start", none)
        ahead.begin(file, 0)
    assert checksum(file) == hashlib.sha256(file.read_bytes()).hexdigest()
