"""What can be made again is kept within a bound, and cleaned on request."""

import errno
import os
import shutil
import time
from pathlib import Path

import pytest

from regard.disk import cache as module
from regard.disk.cache import bound, cache, clean, used, workshop
from regard.errors import FailedError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entry(folder: Path, name: str, size: int, age: int) -> Path:
    made = folder / name
    made.mkdir(parents=True)
    (made / "ids").write_bytes(b"x" * (size - 1))
    (made / "facts").write_bytes(b"x")
    os.utime(made, (10_000 - age,) * 2)
    return made


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_cache_is_at_home_unless_said(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache("encoded") == home / "encoded"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("REGARD_CACHE", "")
    assert cache("downloads") == tmp_path / ".cache" / "regard" / "downloads"
    monkeypatch.delenv("REGARD_CACHE")
    assert cache("downloads") == tmp_path / ".cache" / "regard" / "downloads"


def test_a_bound_lets_go_of_what_was_used_longest_ago(tmp_path: Path) -> None:
    for name, age in (("old", 3), ("middle", 2), ("new", 1)):
        entry(tmp_path, name, 100, age)
    bound(tmp_path, most=300)
    assert names(tmp_path) == ["middle", "new", "old"]
    used(tmp_path / "old")
    bound(tmp_path, most=299)
    assert names(tmp_path) == ["new", "old"]
    bound(tmp_path, most=100)
    assert names(tmp_path) == ["old"]
    bound(tmp_path, most=0)
    assert names(tmp_path) == ["old"]  # the newest stays, however large


def test_a_bound_keeps_what_is_asked_for(tmp_path: Path) -> None:
    for name, age in (("source", 3), ("other", 2), ("target", 1)):
        entry(tmp_path, name, 100, age)
    bound(tmp_path, keep=["source", "target"], most=1)
    assert names(tmp_path) == ["source", "target"]


def test_files_count_links_and_workshops_do_not(tmp_path: Path) -> None:
    large = tmp_path / "elsewhere"
    large.write_bytes(b"x" * 10_000)
    folder = tmp_path / "cache"
    entry(folder, "a", 100, 3)
    (folder / "a" / "link").symlink_to(large)
    os.utime(folder / "a", (1, 1))
    entry(folder, ".regard-work", 10_000, 2)
    (folder / "wheel").write_bytes(b"x" * 100)
    bound(folder, most=200)
    assert names(folder) == [".regard-work", "a", "wheel"]
    bound(folder, most=199)
    assert names(folder) == [".regard-work", "wheel"]
    assert large.exists()


def test_nothing_is_seen_half_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry(tmp_path, "old", 100, 2)
    entry(tmp_path, "new", 100, 1)
    seen: list[list[str]] = []

    def noted(path: Path, ignore_errors: bool) -> None:
        seen.append([path.name[:8], *names(tmp_path)[1:]])

    monkeypatch.setattr(shutil, "rmtree", noted)
    bound(tmp_path, most=100)
    assert seen == [[".regard-", "new"]]


def test_what_another_process_removes_meanwhile_is_no_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, age in (("a", 3), ("b", 2), ("c", 1)):
        entry(tmp_path, name, 100, age)
    size = module._size

    def overtaken(path: Path) -> int:
        held = size(path)
        if path.name == "a":
            shutil.rmtree(path)
        return held

    monkeypatch.setattr(module, "_size", overtaken)
    bound(tmp_path, most=200)
    assert names(tmp_path) == ["b", "c"]
    assert size(tmp_path / "gone") == 0
    used(tmp_path / "gone")
    assert not (tmp_path / "gone").exists()


def test_clean_empties_all_rooms_and_tells_how_much(home: Path, tmp_path: Path) -> None:
    assert clean() == (0, 0)
    elsewhere = entry(tmp_path, "elsewhere", 100, 1)
    entry(home / "encoded", "a", 100, 1)
    entry(home / "encoded", ".regard-left", 50, 1)
    (home / "downloads").mkdir()
    (home / "downloads" / "wheel").write_bytes(b"x" * 7)
    (home / "downloads" / "link").symlink_to(elsewhere)
    assert clean() == (4, 157)
    assert names(home / "encoded") == names(home / "downloads") == []
    assert names(elsewhere) == ["facts", "ids"]
    assert clean() == (0, 0)


def test_what_may_not_be_removed_is_said_by_clean_and_left_by_a_bound(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        entry(home / "encoded", name, 100, 1)

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(FailedError, match=rf"^{home}/encoded: Read-only file system$"):
        clean()
    bound(home / "encoded", most=1)
    assert names(home / "encoded") == ["a", "b"]


def test_a_workshop_passes_and_sweeps_what_was_left(tmp_path: Path) -> None:
    old, new = tmp_path / ".regard-old", tmp_path / ".regard-new"
    for left in (old, new):
        left.mkdir()
        (left / "half").write_text("half")
    os.utime(old, (time.time() - 100_000,) * 2)
    with pytest.raises(KeyboardInterrupt), workshop(tmp_path) as folder:
        assert folder.parent == tmp_path
        assert folder.name.startswith(".regard-")
        (folder / "part").write_text("part")
        raise KeyboardInterrupt
    assert names(tmp_path) == [".regard-new"]


def test_a_room_that_is_a_link_is_not_cleaned(home: Path, tmp_path: Path) -> None:
    entry(tmp_path, "precious", 10, 0)
    home.mkdir()
    (home / "encoded").symlink_to(tmp_path)
    assert clean() == (0, 0)
    assert (tmp_path / "precious" / "ids").is_file()


def test_what_is_being_made_is_neither_swept_nor_cleaned(home: Path) -> None:
    with workshop(cache("encoded")) as held:
        os.utime(held, (0, 0))
        with workshop(cache("encoded")):
            assert held.exists()
        clean()
        assert held.exists()
