"""Rows are encoded once; what the cache gives is what encoding would give, or there is no cache."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from heard import Heard
from told import PAIRS, Lines, Told

from regard.datasets import encode as module
from regard.datasets.data import Report, Split
from regard.datasets.encode import Encoded, encode
from regard.datasets.files import Files
from regard.datasets.pairs import Pair
from regard.datasets.report import Dropped
from regard.datasets.tokenizer import Bpe, Characters, Tokenizer, Words
from regard.errors import InputError


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "deep" / "cache"))
    return tmp_path / "deep" / "cache" / "encoded"


@pytest.fixture(scope="module")
def two() -> list[Tokenizer]:
    """A tokenizer for each side."""
    return [Words().train(pair[side] for pair in PAIRS) for side in (0, 1)]


def lists(found: Encoded) -> list[list[list[int]]]:
    return [[side.row(n).tolist() for n in range(len(side))] for side in found.sides]


def direct(tokenizers: list[Tokenizer], pairs: list[Pair]) -> list[list[list[int]]]:
    return [tokenizer.encode([pair[side] for pair in pairs]) for side, tokenizer in enumerate(tokenizers)]


@pytest.mark.parametrize("size", [300, 70_000])
def test_ids_are_those_of_direct_encoding(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where two bytes a token would be too few."""
    one = Characters().train(text for pair in PAIRS for text in pair)
    monkeypatch.setattr(Tokenizer, "__len__", lambda self: size)
    found = encode(Told(PAIRS), "train", [one, one])
    assert lists(found) == direct([one, one], PAIRS)
    assert {side.ids.itemsize for side in found.sides} == {2 if size == 300 else 4}
    assert (len(found), found.report) == (len(PAIRS), Report(len(PAIRS)))
    assert found.numbers.tolist() == list(range(1, len(PAIRS) + 1))
    assert found.sides[0].lengths.tolist() == [len(row) for row in lists(found)[0]]


def test_data_may_have_one_side(two: list[Tokenizer]) -> None:
    texts = [one for one, _ in PAIRS]
    found = encode(Lines(texts), "train", two[:1])
    assert lists(found) == [two[0].encode(texts)]


def test_the_second_time_no_row_is_read(two: list[Tokenizer]) -> None:
    heard = Heard()
    first, second = Told(PAIRS), Told(PAIRS)
    found = encode(first, "train", two, heard)
    again = encode(second, "train", two, heard)
    assert (first.reads, second.reads) == (1, 0)
    assert lists(again) == lists(found)
    assert (again.numbers.tolist(), again.report) == (found.numbers.tolist(), found.report)
    assert heard.works == [("encoding the train data", 0, 0), ("encoding the train data", len(PAIRS), 0)]


def test_whatever_changes_the_ids_is_encoded_anew(two: list[Tokenizer], kept: Path) -> None:
    changed = [*PAIRS[:-1], ("anders", "different")]
    other = [Bpe().train(text for pair in PAIRS for text in pair)] * 2
    for data, tokenizers, pairs in ((PAIRS, two, PAIRS), (changed, two, changed), (PAIRS, other, PAIRS)):
        assert lists(encode(Told(data), "train", tokenizers)) == direct(tokenizers, pairs)
    assert lists(encode(Told(PAIRS), "valid", two)) == direct(two, PAIRS[:3])
    assert len(list(kept.iterdir())) == 8


def test_another_tokenizer_encodes_its_own_side_only(two: list[Tokenizer], kept: Path) -> None:
    encode(Told(PAIRS), "train", two)
    before = {folder: folder.stat().st_ino for folder in kept.iterdir()}
    other = [two[0], Characters().train(two for _, two in PAIRS)]
    assert lists(encode(Told(PAIRS), "train", other)) == direct(other, PAIRS)
    after = {folder: folder.stat().st_ino for folder in kept.iterdir()}
    assert (len(before), len(after)) == (2, 3)
    assert before.items() < after.items()
    swapped = encode(Told(PAIRS), "train", two[::-1])  # the place of a side is part of its name
    assert lists(swapped) == direct(two[::-1], PAIRS)


def test_rows_too_long_on_either_side_are_left_out_and_counted(two: list[Tokenizer], kept: Path) -> None:
    pairs = [*PAIRS, ("kurz", "dog " * 9)]
    short = [number for number, (one, _) in enumerate(PAIRS, 1) if one.count(" weit") <= 2]
    longer = [number for number in range(1, 41) if number not in short]
    for _ in range(2):  # the second time from the cache
        whole = encode(Told(pairs), "train", two)
        found = whole.within(5, "too long")
        assert lists(found) == direct(two, [pairs[number - 1] for number in short])
        assert found.numbers.tolist() == short
        assert found.report == Report(24, {"too long": Dropped(17, [f"row {number}" for number in longer[:3]])})
        assert whole.report == Report(41)  # as it was
        assert len(whole) == 41
    assert len(list(kept.iterdir())) == 2  # another limit is no other encoding
    assert len(whole.within(0, "too long")) == 0


def test_a_report_outlives_the_cache(two: list[Tokenizer], tmp_path: Path) -> None:
    lines = [f"Hund {n}\tdog {n}" for n in range(30)]
    lines[4], lines[9] = "\tdog", ""
    (tmp_path / "train.tsv").write_text("\n".join(lines))

    def found() -> Encoded:
        data = Files(train=str(tmp_path / "train.tsv"), source="de", target="en", valid_share=0.0)
        return encode(data, "train", two)

    assert found().report == found().report
    assert str(found().report) == "30 read from train.tsv, 2 dropped: 2 empty (lines 5, 10); 28 left"
    assert found().numbers.tolist() == [n for n in range(1, 31) if n not in (5, 10)]
    told = str(found().within(1, "too long").report)
    assert told == "30 read from train.tsv, 30 dropped: 2 empty (lines 5, 10), 28 too long (lines 1, 2, 3, …); 0 left"


def test_a_report_names_the_file_that_is_asked_for(two: list[Tokenizer], tmp_path: Path) -> None:
    """Also where the same content was encoded under another name."""
    for name in ("one.tsv", "other.tsv"):
        (tmp_path / name).write_text("Hund\tdog\n" * 3)
        data = Files(train=str(tmp_path / name), source="de", target="en", valid_share=0.0)
        assert encode(data, "train", two).report.files == [name]


def test_an_empty_split_is_nothing(two: list[Tokenizer]) -> None:
    for _ in range(2):
        found = encode(Told([]), "valid", two)
        assert (len(found), [side.lengths.tolist() for side in found.sides]) == (0, [[], []])
        assert len(found.within(9, "too long")) == 0


def test_an_interruption_leaves_nothing(two: list[Tokenizer], kept: Path) -> None:
    class Interrupted(Told):
        def read(self, split: Split) -> Iterator[Pair]:
            yield self.pairs[0]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode(Interrupted(PAIRS), "train", two)
    assert list(kept.iterdir()) == []


def damages(folder: Path) -> dict[str, tuple[Path, bytes]]:
    ids, lengths, numbers, facts = (folder / name for name in ("ids", "lengths", "numbers", "facts.json"))
    return {
        "ids cut": (ids, ids.read_bytes()[:-2]),
        "half an id": (ids, ids.read_bytes()[:-1]),
        "another id": (ids, ids.read_bytes()[:-1] + b"\xff"),
        "no ids": (ids, b""),
        "lengths cut": (lengths, lengths.read_bytes()[:-9]),
        "no lengths": (lengths, b""),
        "no numbers": (numbers, b""),
        "numbers are none": (numbers, b"rubbish"),
        "fewer lengths": (lengths, lengths.read_bytes()[:-8]),
        "facts cut": (facts, facts.read_bytes()[:9]),
        "facts of another kind": (facts, b"[]"),
        "deep facts": (facts, b"[" * 99_999),
        "unknown kind": (facts, facts.read_bytes().replace(b"uint16", b"magic1")),
    }


DAMAGES = [
    "ids cut",
    "half an id",
    "another id",
    "no ids",
    "lengths cut",
    "no lengths",
    "no numbers",
    "numbers are none",
]
MORE = ["fewer lengths", "facts cut", "facts of another kind", "deep facts", "unknown kind"]


@pytest.mark.parametrize("damage", [*DAMAGES, *MORE])
def test_a_damaged_entry_is_said_and_made_again(damage: str, two: list[Tokenizer], kept: Path) -> None:
    encode(Told(PAIRS), "train", two)
    for folder in list(kept.iterdir())[: 1 if damage in DAMAGES else 2]:  # of one side or of both
        path, content = damages(folder)[damage]
        path.write_bytes(content)
    heard, again = Heard(), Told(PAIRS)
    assert lists(encode(again, "train", two, heard)) == direct(two, PAIRS)
    (said,) = heard.said
    assert re.fullmatch(rf"{re.escape(str(kept))}: damaged \(.*\); encoding again", said)
    assert again.reads == 1
    assert lists(encode(Told(PAIRS), "train", two, heard)) == direct(two, PAIRS)
    assert len(heard.said) == 1  # it is whole now


def test_damage_that_cannot_be_mended_is_refused(
    two: list[Tokenizer], kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode(Told(PAIRS), "train", two)
    (next(kept.iterdir()) / "ids").write_bytes(b"")
    monkeypatch.setattr(module, "discard", lambda _: None)
    with pytest.raises(InputError, match=r"encoded: damaged \(.*\); REGARD_CACHE names another place$"):
        encode(Told(PAIRS), "train", two)


def test_sides_of_unequal_rows_are_made_again(two: list[Tokenizer], kept: Path) -> None:
    """As if the file had changed between the encoding of one side and the other."""
    encode(Told(PAIRS), "train", two[:1] * 2)
    encode(Told(PAIRS[:9]), "train", two)
    shorter = next(path for path in kept.iterdir() if (path / "lengths").stat().st_size == 9 * 8)
    before = set(kept.iterdir())
    encode(Told(PAIRS), "train", two)
    (second,) = set(kept.iterdir()) - before
    shutil.rmtree(second)
    shutil.copytree(shorter, second)
    heard = Heard()
    assert lists(encode(Told(PAIRS), "train", two, heard)) == direct(two, PAIRS)
    assert heard.said == [f"{kept}: damaged (the sides have not the same rows); encoding again"]


def test_what_was_half_removed_is_made_again(two: list[Tokenizer], kept: Path) -> None:
    encode(Told(PAIRS), "train", two)
    for folder in kept.iterdir():
        (folder / "facts.json").unlink()
    again = Told(PAIRS)
    assert lists(encode(again, "train", two)) == direct(two, PAIRS)
    assert again.reads == 1
    assert len(list(kept.iterdir())) == 2


def test_files_that_change_while_they_are_read_are_kept_under_no_name(
    tmp_path: Path, kept: Path, two: list[Tokenizer]
) -> None:
    """Else whoever comes back with the old ones would learn from the new."""
    file = tmp_path / "pairs.tsv"
    file.write_text("a b\tb a\n" * 9)
    data = Files(train=str(file), valid_share=0.0)
    data.fingerprint()
    file.write_text("c d\td c\n" * 5)
    with pytest.raises(InputError, match="the data changed while they were read; begin again"):
        encode(data, "train", two)
    file.write_text("a b\tb a\n" * 9)
    assert len(encode(Files(train=str(file), valid_share=0.0), "train", two)) == 9
