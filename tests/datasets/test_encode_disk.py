"""Encoding and the disk: whole or not at all, within a bound, by several processes, and no trace of a stack."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from told import PAIRS, Told

from regard.datasets import encode as module
from regard.datasets.data import Split
from regard.datasets.encode import encode
from regard.datasets.pairs import Pair
from regard.datasets.tokenizer import Tokenizer, Words
from regard.disk import cache
from regard.errors import InputError


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "encoded"


@pytest.fixture(scope="module")
def two() -> list[Tokenizer]:
    return [Words().train(text for pair in PAIRS for text in pair)] * 2


def rows(data: Told, two: list[Tokenizer]) -> list[list[int]]:
    found = encode(data, "train", two)
    return [side.flat().tolist() for side in found.sides]


def test_what_a_killed_process_left_is_never_used_and_swept_after_a_day(two: list[Tokenizer], kept: Path) -> None:
    wanted = rows(Told(PAIRS), two)
    for name in (".regard-old", ".regard-new"):
        for folder in list(kept.glob("[!.]*")):
            left = kept / name / folder.name
            left.mkdir(parents=True)
            for file in folder.iterdir():
                (left / file.name).write_bytes(file.read_bytes()[:-7])
            (left / "facts.json").write_bytes((folder / "facts.json").read_bytes())
    os.utime(kept / ".regard-old", (0, 0))
    cache._remove(next(kept.glob("[!.]*")))
    told = Told(PAIRS)
    assert rows(told, two) == wanted
    assert told.reads == 1
    assert sorted(path.name[:11] for path in kept.glob(".*")) == [".regard-new"]
    assert len(list(kept.glob("[!.]*"))) == 2


def test_a_folder_gets_its_name_last(two: list[Tokenizer], kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed just before, there would be nothing by that name."""
    seen: list[set[str]] = []
    rename = Path.rename

    def noted(part: Path, folder: Path) -> Path:
        assert not folder.exists()
        seen.append({file.name for file in part.iterdir()})
        return rename(part, folder)

    monkeypatch.setattr(Path, "rename", noted)
    encode(Told(PAIRS), "train", two)
    assert seen == [{file.name for file in folder.iterdir()} for folder in kept.iterdir()]


def test_another_process_may_be_first(two: list[Tokenizer], kept: Path) -> None:
    class Overtaken(Told):
        first = True

        def read(self, split: Split) -> Iterator[Pair]:
            if Overtaken.first:
                Overtaken.first = False
                encode(Overtaken(PAIRS), "train", two)
                assert len(list(kept.glob("[!.]*"))) == 2
            return super().read(split)

    assert rows(Overtaken(PAIRS), two) == rows(Told(PAIRS), two)
    assert len(list(kept.iterdir())) == 4


WORK = """
import sys
sys.path.insert(0, sys.argv[1])
from told import PAIRS, Told
from regard.datasets.encode import encode
from regard.datasets.tokenizer import Words
made = Words().train(text for pair in PAIRS for text in pair)
for turn in range(20):
    found = encode(Told([*PAIRS, (str(turn), "x")]), "train", [made, made])
    assert found.sides[1].flat().tolist() == [id for row in made.encode([*(t for _, t in PAIRS), "x"]) for id in row]
"""


def test_processes_encode_the_same_at_once(kept: Path) -> None:
    order = [sys.executable, "-c", WORK, str(Path(__file__).parent)]
    together = [subprocess.Popen(order, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    said = [process.communicate(timeout=120)[1] for process in together]
    assert ([process.returncode for process in together], said) == ([0] * 3, [""] * 3)
    assert len(list(kept.iterdir())) == 40


def test_a_bound_lets_go_of_the_oldest_and_never_of_what_is_asked_for(
    two: list[Tokenizer], kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "bound", lambda folder, keep: cache.bound(folder, keep, 1))
    for turn in range(3):
        pairs = [*PAIRS, (f"{turn}", "x")]
        assert rows(Told(pairs), two) == [
            [token for row in two[side].encode([pair[side] for pair in pairs]) for token in row] for side in (0, 1)
        ]
        assert len(list(kept.iterdir())) == 2


def test_reading_from_the_cache_counts_as_use(two: list[Tokenizer], kept: Path) -> None:
    first, second = Told(PAIRS), Told(PAIRS[:9])
    encode(first, "train", two)
    early = set(kept.iterdir())
    encode(second, "train", two)
    for age, folder in enumerate(sorted(kept.iterdir(), key=lambda folder: folder not in early)):
        os.utime(folder, (age + 1, age + 1))
    encode(first, "train", two)
    cache.bound(kept, most=sum(file.stat().st_size for folder in early for file in folder.iterdir()))
    assert set(kept.iterdir()) == early


def test_a_cache_that_cannot_be_written_is_said(
    two: list[Tokenizer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"/file/encoded: Not a directory; REGARD_CACHE names another place$"):
        encode(Told(PAIRS), "train", two)


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"),
        (OSError(errno.EROFS, os.strerror(errno.EROFS)), "Read-only file system"),
        (PermissionError(errno.EACCES, os.strerror(errno.EACCES)), "Permission denied"),
        (OSError("41 requested and 0 written"), "41 requested and 0 written"),
    ],
)
@pytest.mark.parametrize("place", ["mkdir", "save", "rename"])
def test_a_full_or_locked_cache_is_said_and_left_empty(
    place: str, trouble: OSError, said: str, two: list[Tokenizer], kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise trouble

    kept.mkdir(parents=True)
    places = {"mkdir": (Path, "mkdir"), "save": (Path, "write_text"), "rename": (Path, "rename")}
    monkeypatch.setattr(*places[place], refuse)
    with pytest.raises(InputError, match=rf"^{kept}: {said}; REGARD_CACHE names another place$"):
        encode(Told(PAIRS), "train", two)
    assert list(kept.iterdir()) == []


def test_a_cache_that_may_only_be_read_is_read(
    two: list[Tokenizer], kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = rows(Told(PAIRS), two)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for where, name in ((Path, "mkdir"), (Path, "rename"), (os, "utime")):
        monkeypatch.setattr(where, name, refuse)
    again = Told(PAIRS)
    assert rows(again, two) == wanted
    assert again.reads == 0


def test_long_rows_are_encoded_a_few_at_a_time(two: list[Tokenizer], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens take a hundred times the room of text."""
    sizes, encode_ = list[int](), Tokenizer.encode

    def counted(self: Tokenizer, texts: list[str]) -> list[list[int]]:
        sizes.append(sum(map(len, texts)))
        return encode_(self, texts)

    monkeypatch.setattr(Tokenizer, "encode", counted)
    monkeypatch.setattr(module, "MUCH", 1000)
    pairs = [(f"{number} " * 100, "b") for number in range(50)]
    found = encode(Told(pairs), "train", two)
    assert len(found) == 50
    assert max(sizes) < 1500
