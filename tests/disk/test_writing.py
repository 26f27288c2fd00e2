"""A file is the old one or the new one, whole, whenever the power goes."""

import errno
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import torch

from regard.disk import check_place, remove, room, sync, write
from regard.disk.tensors import write_tensors
from regard.errors import FailedError, InputError

module = import_module("regard.disk.write")

KILLED = """
import os, sys
from pathlib import Path
from regard.disk import write
place, path = sys.argv[1], Path(sys.argv[2])
if place == "fsync":
    os.fsync = lambda handle: os._exit(9)
else:
    Path.replace = lambda part, to: os._exit(9)
write(path, b"new" * 100)
"""


def test_the_new_content_replaces_the_old(tmp_path: Path) -> None:
    for content in (b"old", b"", b"new"):
        write(tmp_path / "file.json", content)
        assert (tmp_path / "file.json").read_bytes() == content
        assert [path.name for path in tmp_path.iterdir()] == ["file.json"]


@pytest.mark.parametrize("place", ["fsync", "replace"])
def test_a_crash_leaves_the_old_and_the_next_writing_mends_it(place: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path, b"old")
    killed = subprocess.run([sys.executable, "-c", KILLED, place, str(path)], check=False)
    assert killed.returncode == 9
    assert path.read_bytes() == b"old"
    write(path, b"newer")
    assert path.read_bytes() == b"newer"
    assert [left.name for left in tmp_path.iterdir()] == ["file"]


def test_nothing_is_renamed_before_it_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda handle: done.append("sync") or fsync(handle))
    monkeypatch.setattr(Path, "replace", lambda part, to: done.append("rename") or replace(part, to))
    write(tmp_path / "file", b"new")
    assert done == ["sync", "rename", "sync"]


FULL = "the disk is full; what was saved before is whole. Make room, then try again, a training with --resume"


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), FULL),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), FULL),
        (OSError("write: No space left on device"), FULL),
        (OSError(errno.EROFS, "Read-only file system"), "Read-only file system"),
        (OSError("something else"), "something else"),
    ],
    ids=str,
)
def test_what_the_disk_refuses_is_one_line(trouble: OSError, said: str, tmp_path: Path) -> None:
    with pytest.raises(FailedError) as told, room(tmp_path):
        raise trouble
    assert str(told.value) == f"{tmp_path}: {said}"


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "file", b"old")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FailedError, match="the disk is full"), room(tmp_path):
        write(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert [left.name for left in tmp_path.iterdir()] == ["file"]  # no half of the new one, which would fill it further
    with pytest.raises(OSError, match=rf"{tmp_path}/file'$"):  # by the name that people know
        write(tmp_path / "file", b"new")


@pytest.mark.parametrize("name", ["/proc/x.png", "/proc/deep/x.png", f"{'a' * 300}.png", f"{'a' * 300}/x.png"])
def test_what_could_not_be_written_is_refused_before_any_work(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"nothing can be written there \(\w"):
        check_place(Path(name))
    assert not list(tmp_path.iterdir())


def test_where_something_can_be_written_nothing_is_left(tmp_path: Path) -> None:
    write(tmp_path / "old", b"old")
    (tmp_path / "killed.part").write_text("half")
    for name in ("old", "new", "deep/new", "killed"):
        check_place(tmp_path / name)
    assert {left.name for left in tmp_path.iterdir()} == {"old", "killed.part"}
    assert (tmp_path / "old").read_bytes() == b"old"


def test_tensors_that_cannot_be_written_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match=rf"^{tmp_path}/nowhere: .*No such file"):
        write_tensors(tmp_path / "nowhere" / "w.safetensors", {"a": torch.zeros(1)})


def test_a_folder_is_renamed_before_it_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "step-1"
    folder.mkdir()
    (folder / "weights").write_text("w")
    (tmp_path / "step-1.old.part").mkdir()  # left behind by somebody who was killed
    seen: list[tuple[str, bool]] = []
    emptied = module._emptied

    def noted(path: Path) -> None:
        seen.append((path.name, folder.exists()))
        emptied(path)

    monkeypatch.setattr(module, "_emptied", noted)
    remove(folder)
    assert seen == [("step-1.old.part", True), ("step-1.old.part", False)]
    assert list(tmp_path.iterdir()) == []


def test_files_and_folders_can_be_synced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a")
    sync(tmp_path / "file")
    sync(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync(tmp_path / "nothing")


def test_a_folder_is_removed_however_deep_and_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kept").write_text("kept")
    top = tmp_path / "top"
    top.mkdir()
    (top / "link").symlink_to(tmp_path / "mine")
    here = os.open(top, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d" * 20, dir_fd=here)
        deeper = os.open("d" * 20, os.O_RDONLY, dir_fd=here)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=deeper))
        os.close(here)
        here = deeper
    os.close(here)
    remove(top)
    top.symlink_to(tmp_path / "mine")
    remove(top)  # only the link
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert (tmp_path / "mine" / "kept").read_text() == "kept"
