"""Pairs are encoded once; what the cache gives is what encoding would give, or there is no cache."""

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from regard.data import corpus
from regard.data.corpus import Corpus, Vocabulary, encode
from regard.data.pairs import Pair, Pairs, Split, digest
from regard.data.tokens import Bpe, Characters, Tokens, Words
from regard.errors import InputError

PAIRS: list[Pair] = [(f"Hund {n} läuft" + " weit" * (n % 5), f"dog {n} runs") for n in range(40)]


class Told(Pairs):
    """Pairs from a list; says how often they were read."""

    source, target = "de", "en"

    def __init__(self, pairs: list[Pair]) -> None:
        self.pairs, self.reads = pairs, 0

    def read(self, split: Split) -> Iterator[Pair]:
        self.reads += 1
        yield from self.pairs if split == "train" else self.pairs[:3]

    def fingerprint(self) -> str:
        return digest(self.pairs)


class Interrupted(Told):
    def read(self, split: Split) -> Iterator[Pair]:
        yield self.pairs[0]
        raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "deep" / "cache"))
    return tmp_path / "deep" / "cache"


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.learn(Told(PAIRS), Words())


def lists(found: Corpus) -> tuple[list[list[int]], list[list[int]]]:
    sources, targets = ([side.row(n).tolist() for n in range(len(side))] for side in (found.source, found.target))
    return sources, targets


def direct(vocabulary: Vocabulary, pairs: list[Pair]) -> tuple[list[list[int]], list[list[int]]]:
    return vocabulary.source.encode([one for one, _ in pairs]), vocabulary.target.encode([two for _, two in pairs])


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("size", [300, 70_000])
def test_ids_are_those_of_direct_encoding(joint: bool, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where two bytes a token would be too few."""
    vocabulary = Vocabulary.learn(Told(PAIRS), Characters(joint=joint))
    monkeypatch.setattr(Tokens, "__len__", lambda self: size)
    found = encode(Told(PAIRS), vocabulary, "train", 99)
    assert lists(found) == direct(vocabulary, PAIRS)
    assert (found.source.ids.itemsize, len(found), found.left_out) == (2 if size == 300 else 4, len(PAIRS), 0)
    assert found.source.lengths().tolist() == [len(row) for row in lists(found)[0]]


def test_the_second_time_no_pair_is_read(vocabulary: Vocabulary) -> None:
    said: list[str] = []
    first, second = Told(PAIRS), Told(PAIRS)
    found = encode(first, vocabulary, "train", 99, said.append)
    again = encode(second, vocabulary, "train", 99, said.append)
    assert (first.reads, second.reads) == (1, 0)
    assert lists(again) == lists(found)
    assert said == ["encoding the train pairs"]


def test_whatever_changes_the_ids_is_encoded_anew(vocabulary: Vocabulary, kept: Path) -> None:
    changed = [*PAIRS[:-1], ("anders", "different")]
    other = Vocabulary.learn(Told(PAIRS), Bpe())
    assert lists(encode(Told(PAIRS), vocabulary, "train", 99)) == direct(vocabulary, PAIRS)
    assert lists(encode(Told(changed), vocabulary, "train", 99)) == direct(vocabulary, changed)
    assert lists(encode(Told(PAIRS), other, "train", 99)) == direct(other, PAIRS)
    assert lists(encode(Told(PAIRS), vocabulary, "valid", 99)) == direct(vocabulary, PAIRS[:3])
    assert len(encode(Told(PAIRS), vocabulary, "train", 3)) == 8
    assert len(list(kept.iterdir())) == 5


def test_pairs_too_long_on_either_side_are_left_out_and_counted(vocabulary: Vocabulary) -> None:
    long = ("kurz", "dog " * 9)
    pairs = [*PAIRS, long]
    for _ in range(2):  # the second time from the cache
        found = encode(Told(pairs), vocabulary, "train", 5)
        short = [pair for pair in PAIRS if pair[0].count(" weit") <= 2]
        assert lists(found) == direct(vocabulary, short)
        assert found.left_out == 41 - len(short) == 17


def test_an_empty_split_is_a_corpus_of_nothing(vocabulary: Vocabulary) -> None:
    found = encode(Told([]), vocabulary, "valid", 99)
    assert (len(found), found.source.lengths().tolist()) == (0, [])
    assert len(encode(Told(PAIRS), vocabulary, "train", 1)) == 0


def test_what_a_killed_process_left_is_never_used(vocabulary: Vocabulary, kept: Path) -> None:
    """Not even by a process that has got the same number."""
    wanted = lists(encode(Told(PAIRS), vocabulary, "train", 99))
    (folder,) = kept.iterdir()
    for name in (f"{folder.name}.1.part", f"{folder.name}.{os.getpid()}.part"):
        left = kept / name
        left.mkdir()
        for file in folder.iterdir():
            (left / file.name).write_bytes(file.read_bytes()[:-7])
        (left / "facts.json").write_text('{"left_out": 0, "kind": "uint16"}')
        (left / "more").write_text("rubbish")
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    told = Told(PAIRS)
    assert lists(encode(told, vocabulary, "train", 99)) == wanted
    assert told.reads == 1
    assert sorted(path.name for path in kept.iterdir()) == [folder.name, f"{folder.name}.1.part"]
    os.utime(kept / f"{folder.name}.1.part", (0, 0))  # nobody is at work on it any more
    shutil.rmtree(folder)
    encode(told, vocabulary, "train", 99)
    assert [path.name for path in kept.iterdir()] == [folder.name]


def test_a_folder_gets_its_name_last(vocabulary: Vocabulary, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed just before, there would be nothing by that name."""
    seen: list[set[str]] = []
    rename = Path.rename

    def noted(part: Path, folder: Path) -> Path:
        assert not folder.exists()
        seen.append({file.name for file in part.iterdir()})
        return rename(part, folder)

    monkeypatch.setattr(Path, "rename", noted)
    encode(Told(PAIRS), vocabulary, "train", 99)
    (folder,) = kept.iterdir()
    assert seen == [{file.name for file in folder.iterdir()}]


def test_an_interruption_leaves_nothing(vocabulary: Vocabulary, kept: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        encode(Interrupted(PAIRS), vocabulary, "train", 99)
    assert list(kept.iterdir()) == []


def test_another_process_may_be_first(vocabulary: Vocabulary, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Overtaken(Told):
        def read(self, split: Split) -> Iterator[Pair]:
            with monkeypatch.context() as elsewhere:
                elsewhere.setattr(os, "getpid", lambda: 7)
                assert len(encode(Told(PAIRS), vocabulary, "train", 99)) == len(PAIRS)
            return super().read(split)

    assert lists(encode(Overtaken(PAIRS), vocabulary, "train", 99)) == direct(vocabulary, PAIRS)
    assert len(list(kept.iterdir())) == 1


def test_a_cache_that_cannot_be_written_is_said(
    vocabulary: Vocabulary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"/file: Not a directory; REGARD_CACHE names another place$"):
        encode(Told(PAIRS), vocabulary, "train", 99)


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"),
        (PermissionError(errno.EACCES, os.strerror(errno.EACCES)), "Permission denied"),
        (OSError("41 requested and 0 written"), "41 requested and 0 written"),
    ],
)
@pytest.mark.parametrize("place", ["mkdir", "save"])
def test_a_full_or_locked_cache_is_said_and_left_empty(
    place: str, trouble: OSError, said: str, vocabulary: Vocabulary, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise trouble

    kept.mkdir(parents=True)
    monkeypatch.setattr(*{"mkdir": (Path, "mkdir"), "save": (np, "save")}[place], refuse)
    with pytest.raises(InputError, match=rf"^{kept}: {said}; REGARD_CACHE names another place$"):
        encode(Told(PAIRS), vocabulary, "train", 99)
    assert list(kept.iterdir()) == []


def test_the_cache_is_at_home_unless_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kept: Path) -> None:
    assert corpus.cache() == kept
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("REGARD_CACHE", "")
    assert corpus.cache() == tmp_path / ".cache" / "regard"
    monkeypatch.delenv("REGARD_CACHE")
    assert corpus.cache() == tmp_path / ".cache" / "regard"


def test_a_joint_vocabulary_is_one_and_separate_ones_are_two() -> None:
    joint = Vocabulary.learn(Told(PAIRS), Words())
    apart = Vocabulary.learn(Told(PAIRS), Words(joint=False))
    assert joint.source is joint.target
    assert joint.source.encode(["Hund dog"]) == joint.target.encode(["Hund dog"])
    assert [len(side.encode(["läuft"])[0]) for side in (apart.source, apart.target)] == [1, 7]
    assert [len(side.encode(["runs"])[0]) for side in (apart.source, apart.target)] == [5, 1]
    assert len(apart.source) + len(apart.target) > len(joint.source)


@pytest.mark.parametrize("joint", [True, False])
def test_a_vocabulary_of_both_sides_is_opened_as_it_was(joint: bool) -> None:
    vocabulary = Vocabulary.learn(Told(PAIRS), Bpe(joint=joint))
    opened = Vocabulary.open(vocabulary.table())
    assert opened.table() == vocabulary.table()
    assert (opened.source is opened.target) == joint
    assert direct(opened, PAIRS) == direct(vocabulary, PAIRS)


@pytest.mark.parametrize("names", [(), ("source",), ("both", "source"), ("source", "target", "more"), ("neither",)])
def test_a_table_of_other_sides_is_refused(names: tuple[str, ...], vocabulary: Vocabulary) -> None:
    with pytest.raises(InputError, match="wanted tables `both`, or `source` and `target`"):
        Vocabulary.open(dict.fromkeys(names, vocabulary.source.table()))


@pytest.mark.parametrize("joint", [True, False])
def test_a_vocabulary_is_learnt_from_the_first_pairs(joint: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "SAMPLE", 4)
    some = Vocabulary.learn(Told(PAIRS), Words(joint=joint))
    assert some.table() == Vocabulary.learn(Told(PAIRS[:4]), Words(joint=joint)).table()
