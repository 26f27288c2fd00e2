"""Files are read as data: bounded, plain, and with a sentence for everything else."""

import os
import tracemalloc
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.disk import checksum, names_inside, parse_json, read_bytes, read_json, read_text, read_toml, tensors
from regard.disk.door import LARGEST
from regard.disk.tensors import parse_tensors, read_shapes, read_tensors, tensor_bytes, write_tensors
from regard.errors import InputError

READERS: list[Callable[[Path], Any]] = [read_bytes, read_text, read_json, read_toml]
every = pytest.mark.parametrize("read", READERS)
PLAIN = r"a (link|folder|pipe|device), no plain file"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_text("{}")
    return path


def test_what_is_there_is_read(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes("한\r\n".encode())
    assert read_bytes(tmp_path / "text") == "한\r\n".encode()
    assert read_text(tmp_path / "text") == "한\r\n"
    (tmp_path / "table").write_text('{"a": [1, null]}')
    assert read_json(tmp_path / "table") == {"a": [1, None]}
    (tmp_path / "toml").write_text("[a]\nb = 1\n")
    assert read_toml(tmp_path / "toml") == {"a": {"b": 1}}


def test_no_more_room_is_made_than_there_is_to_read(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"x" * 100_000)
    tracemalloc.start()
    assert len(read_bytes(tmp_path / "small")) == 100_000
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 500_000 < LARGEST
    with pytest.raises(InputError, match="larger than it should be"):
        read_bytes(tmp_path / "small", most=99_999)


@every
def test_what_is_not_there_is_said(read: Callable[[Path], Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"/nothing: no such file$"):
        read(tmp_path / "nothing")


@every
def test_links_folders_and_pipes_are_refused(read: Callable[[Path], Any], file: Path, tmp_path: Path) -> None:
    """A pipe without a writer would wait for ever."""
    (tmp_path / "link").symlink_to(file)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "folder", "pipe"):
        with pytest.raises(InputError, match=rf"/{name}: {PLAIN}$"):
            read(tmp_path / name)
    with pytest.raises(InputError, match=PLAIN):
        read(Path("/dev/zero"))


@every
def test_what_is_too_large_is_refused_unread(read: Callable[[Path], Any], file: Path) -> None:
    os.truncate(file, LARGEST + 1)  # takes no room
    with pytest.raises(InputError, match="larger than it should be"):
        read(file)


def test_a_file_as_large_as_it_may_be_is_read(file: Path) -> None:
    assert read_bytes(file, most=2) == b"{}"
    with pytest.raises(InputError, match="larger than it should be"):
        read_bytes(file, most=1)


def test_what_the_disk_refuses_is_said(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "open", refuse)
    for read in (*READERS, checksum):
        with pytest.raises(InputError, match=r"/file: cannot be read: Input/output error$"):
            read(file)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[1]",
        b"5",
        b"{",
        b"\xff{}",
        b"[" * 99_999,
        b'{"a": ' + b"[" * 101 + b"]" * 101 + b"}",
        b'{"a": 1' + b"0" * 9_999,
    ],
)
def test_what_is_no_table_is_damaged(content: bytes, file: Path) -> None:
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"/file: damaged: not a JSON table$"):
        read_json(file)
    with pytest.raises(InputError, match=r"^facts: damaged"):
        parse_json(content, "facts")


@pytest.mark.parametrize(
    "content", ["a = ", "[a\n", "a = " + "[" * 9_999, ".".join("a" * 40) + " = 1", "a = 1" + "0" * 9_999]
)
def test_what_is_no_toml_is_damaged(content: str, file: Path) -> None:
    file.write_text(content)
    with pytest.raises(InputError, match=r"/file: damaged: "):
        read_toml(file)


def test_bytes_that_are_no_text_are_said(file: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    for read in (read_text, read_toml):
        with pytest.raises(InputError, match=r"/file: cannot be read: .*utf-8"):
            read(file)


def test_a_checksum_is_that_of_the_content(file: Path) -> None:
    assert checksum(file) == sha256(b"{}").hexdigest()


def test_names_are_those_of_files_in_a_folder() -> None:
    assert names_inside(["a", "b.json", "...", "한"], "table") == ["a", "b.json", "...", "한"]
    bad = [["../a"], ["/a"], ["a/b"], ["a/"], [""], ["."], [".."], [5], [None], [["a"]]]
    bad += [["x" * 256], ["a", "a"], [*map(str, range(65))]]
    for names in (*bad, "a", {"a": 1}, None):
        with pytest.raises(InputError, match="^table: damaged: names of files that are none$"):
            names_inside(names, "table")


def test_tensors_come_back_and_nothing_else_does(tmp_path: Path) -> None:
    held = {"a": torch.arange(6.0).view(2, 3), "b": torch.arange(6).view(2, 3).T}
    path = tmp_path / "w.safetensors"
    assert write_tensors(path, held) == checksum(path)
    assert read_shapes(path) == {"a": [2, 3], "b": [3, 2]}
    for found in (read_tensors(path), parse_tensors(path.read_bytes(), "w")):
        assert all(torch.equal(found[name], tensor) for name, tensor in held.items())
    assert torch.equal(parse_tensors(tensor_bytes({"a": held["a"]}), "w")["a"], held["a"])
    path.write_bytes(path.read_bytes()[:-1])
    for read in (read_tensors, read_shapes):
        with pytest.raises(InputError, match=r"w\.safetensors: not a safetensors file: "):
            read(path)
        with pytest.raises(InputError, match="nothing: no such file"):
            read(tmp_path / "nothing")
    torch.save(held, path)
    with pytest.raises(InputError, match="not a safetensors file: "):
        read_tensors(path)
    with pytest.raises(InputError, match="^w: not a safetensors file: "):
        parse_tensors(path.read_bytes(), "w")


def test_a_file_that_becomes_shorter_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mapped into memory, it would end the process."""
    path = tmp_path / "weights.safetensors"
    write_tensors(path, {"a": torch.arange(1000.0), "b": torch.arange(5)})
    whole = tensors.read_head

    def cut(file: Any) -> Any:
        found = whole(file)
        os.truncate(path, 100)
        return found

    monkeypatch.setattr(tensors, "read_head", cut)
    with pytest.raises(InputError, match="it is cut off"):
        read_tensors(path)


def test_what_is_longer_than_it_said_is_not_read_to_its_end() -> None:
    with pytest.raises(InputError, match="larger than it should be"):
        read_bytes(Path("/proc/self/maps"), most=10, links=True)  # whose size is said to be 0
