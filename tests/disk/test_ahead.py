"""Files that are read while something else is done: the same, and never what a file was before."""

import hashlib
from pathlib import Path

import pytest
import torch

from regard.disk import ahead, checksum
from regard.disk.tensors import read_tensors, write_tensors

KINDS = (torch.float32, torch.bfloat16, torch.int64, torch.bool)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "weights").write_bytes(b"numbers" * 100_000)
    return tmp_path / "weights"


@pytest.fixture
def tensors(tmp_path: Path) -> Path:
    """Of several types; one is a single number, one is empty, and some stand at odd places of the file."""
    made = {str(kind): torch.arange(17 + place).to(kind) for place, kind in enumerate(KINDS)}
    write_tensors(tmp_path / "tensors", made | {"one": torch.tensor(2.5), "none": torch.empty(0, 3)})
    return tmp_path / "tensors"


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every checksum that is found, and by whom."""
    seen = list[str]()
    kept = ahead.checked

    def told(opened: object) -> object:
        begun = kept(opened)  # type: ignore[arg-type]
        seen.append("now" if begun is None else "ahead")
        return begun

    monkeypatch.setattr(ahead, "checked", told)
    return seen


def rewritten(file: Path, content: bytes) -> None:
    """As long as before, and written when the clock of the disk has moved on."""
    before = file.stat()
    assert len(content) == before.st_size
    while file.stat().st_mtime_ns == before.st_mtime_ns:
        file.write_bytes(content)


def test_what_was_begun_is_given(file: Path, found: list[str]) -> None:
    right = hashlib.sha256(file.read_bytes()).hexdigest()
    ahead.begin(file, 0)
    assert checksum(file) == right
    assert found == ["ahead"]


def test_tensors_are_those_of_the_file_and_given_once(tensors: Path, found: list[str]) -> None:
    plain = read_tensors(tensors)
    ahead.begin(tensors, 0)
    assert checksum(tensors) == hashlib.sha256(tensors.read_bytes()).hexdigest()
    read, again = read_tensors(tensors), read_tensors(tensors)
    assert found == ["ahead"]
    assert list(read) == list(plain)
    for name, tensor in plain.items():
        assert read[name].dtype == tensor.dtype
        assert torch.equal(read[name], tensor)
        assert tensor.numel() == 0 or read[name].data_ptr() % 64 == 0
    read["one"].zero_()
    assert again["one"] == 2.5
    assert checksum(tensors) == hashlib.sha256(tensors.read_bytes()).hexdigest()
    assert found == ["ahead", "now"]


def test_tensors_of_what_was_written_since_are_read_again(tensors: Path) -> None:
    ahead.begin(tensors, 0)
    content = tensors.read_bytes()
    rewritten(tensors, content.replace(torch.tensor(2.5).numpy().tobytes(), torch.tensor(3.5).numpy().tobytes()))
    assert read_tensors(tensors)["one"] == 3.5


def test_a_file_that_was_written_to_since_is_read_again(file: Path, found: list[str]) -> None:
    ahead.begin(file, 0)
    content = b"Numbers" * 100_000
    rewritten(file, content)
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

    monkeypatch.setattr(ahead, "read_head", full)
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
