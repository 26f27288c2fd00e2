"""Toys do what they say, and no sequence is in two splits."""

import re
from collections import Counter
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.datasets.data import SPLITS
from regard.datasets.toys import Toys

few = settings(deadline=None, max_examples=60, derandomize=True)
FIRST = ["c a a b", "b c c", "c a"]  # the same on every machine
Operation = Literal["copy", "reverse", "sort"]


@pytest.mark.parametrize("operation", ["copy", "reverse", "sort"])
def test_an_operation_is_done(operation: Operation) -> None:
    for source, target in Toys(operation=operation, train=300).read("train"):
        letters = source.split(" ")
        wanted = {"copy": letters, "reverse": letters[::-1], "sort": sorted(letters)}[operation]
        assert target.split(" ") == wanted
        assert 1 <= len(letters) <= 12
        assert set(letters) <= set("abcdefghij")


@few
@given(
    letters=st.integers(2, 6),
    shortest=st.integers(1, 3),
    extra=st.integers(0, 4),
    counts=st.tuples(*[st.integers(1, 300)] * 3),
    seed=st.integers(0, 3),
)
def test_no_sequence_is_in_two_splits(
    letters: int, shortest: int, extra: int, counts: tuple[int, ...], seed: int
) -> None:
    """Small spaces too: the splits get smaller, and none is empty."""
    longest = shortest + extra if letters ** (shortest + extra) >= 5 else 3
    train, valid, test = counts
    data = Toys(
        letters=letters, min_length=shortest, max_length=longest, train=train, valid=valid, test=test, seed=seed
    )
    sources = {split: [source for source, _ in data.read(split)] for split in SPLITS}
    everything = [source for split in SPLITS for source in sources[split]]
    assert len(set(everything)) == len(everything)
    for split, count in zip(SPLITS, counts, strict=True):
        assert 1 <= len(sources[split]) <= count


def test_lengths_are_drawn_equally_often_as_far_as_there_are_sequences() -> None:
    lengths = Counter(len(source.split()) for source, _ in Toys(max_length=6, train=3_000).read("train"))
    assert lengths[1] == 6
    assert lengths[4] == pytest.approx(lengths[6], abs=1)
    assert lengths.total() == 3_000


@pytest.mark.parametrize("longest", [3, 40])
def test_the_test_split_can_have_other_lengths(longest: int) -> None:
    data = Toys(test_max_length=longest, train=1_000)
    assert {len(source.split()) for source, _ in data.read("test")} <= set(range(1, longest + 1))
    assert max(len(source.split()) for source, _ in data.read("test")) == longest
    assert max(len(source.split()) for source, _ in data.read("train")) == 12
    assert max(len(source.split()) for source, _ in data.read("valid")) == 12
    assert not {source for source, _ in data.read("test")} & {source for source, _ in data.read("train")}


def test_long_sequences_of_many_letters() -> None:
    data = Toys(operation="sort", letters=52, min_length=200, max_length=200, train=5, valid=1, test=1)
    pairs = list(data.read("train"))
    assert len(pairs) == 5
    for source, target in pairs:
        assert len(source.split()) == 200
        assert Counter(source.split()) == Counter(target.split())
        assert target.split() == sorted(source.split(), key=lambda letter: (letter.isupper(), letter))


def test_pairs_are_a_function_of_the_options() -> None:
    pairs = list(Toys(train=10).read("test"))
    assert list(Toys(train=10).read("test")) == pairs
    assert list(Toys(train=500).read("test")) == pairs
    assert list(Toys(train=10, seed=2).read("test")) != pairs
    assert [source for source, _ in Toys(letters=3, max_length=4, test=3).read("test")] == FIRST
    others = [
        Toys(operation="copy"),
        Toys(letters=9),
        Toys(min_length=2),
        Toys(max_length=9),
        Toys(test_max_length=20),
        Toys(seed=2),
    ]
    assert len({data.fingerprint() for data in (Toys(), *others)}) == 7
    assert Toys().fingerprint() == Toys(test_max_length=12).fingerprint()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"letters": 53}, "letters: 53 is more than the 52 there are"),
        ({"min_length": 5, "max_length": 4}, "max_length: 4 is less than min_length = 5"),
        ({"min_length": 5, "test_max_length": 4}, "test_max_length: 4 is less than min_length = 5"),
        ({"letters": 1}, "max_length: 12 of 1 letters make too few sequences"),
        ({"letters": 2, "max_length": 2}, "max_length: 2 of 2 letters make too few sequences"),
        ({"letters": 2, "test_max_length": 2}, "test_max_length: 2 of 2 letters make too few sequences"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        Toys(**options)
