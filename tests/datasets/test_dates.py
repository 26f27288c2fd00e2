"""Dates are written as each language writes them, and no day is in two splits."""

import re
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.datasets.data import SPLITS
from regard.datasets.dates import WITH_WEEKDAY, WITHOUT_WEEKDAY, Dates, languages, write

few = settings(deadline=None, max_examples=30, derandomize=True)
DAY = date(2026, 11, 15)
FIRST = ["1969-09-29", "1965-11-08", "1918-02-17"]  # the same on every machine


@pytest.mark.parametrize(
    ("language", "written"),
    [
        ("ko", ["2026년 11월 15일 일요일", "2026년 11월 15일 (일)", "2026. 11. 15. (일)"]),
        ("de", ["Sonntag, 15. November 2026", "So., 15. Nov. 2026", "So., 15.11.2026"]),
        ("en", ["Sunday, November 15, 2026", "Sun, Nov 15, 2026", "Sun, 11/15/2026"]),
        ("fr", ["dimanche 15 novembre 2026", "dim. 15 nov. 2026", "dim. 15/11/2026"]),
        ("it", ["domenica 15 novembre 2026", "dom 15 nov 2026", "dom 15/11/2026"]),
        ("iso", ["2026-11-15"] * 3),
    ],
)
def test_a_known_day(language: str, written: list[str]) -> None:
    assert [write(DAY, language, way) for way in WITH_WEEKDAY] == written


def test_korean_puts_the_year_first() -> None:
    for source, target in Dates(train=200, valid=1, test=1).read("train"):
        assert source[:4] == target[-4:]
        assert source[:4].isdigit()


@few
@given(st.integers(0, 5), st.integers(1, 200), st.integers(1, 70), st.integers(1, 70), st.integers(1900, 2098))
def test_no_day_is_in_two_splits(seed: int, train: int, valid: int, test: int, year: int) -> None:
    counts = {"train": train, "valid": valid, "test": test}
    data = Dates(source="ko", target="iso", first_year=year, last_year=year, seed=seed, **counts)
    days = {split: [date.fromisoformat(target) for _, target in data.read(split)] for split in SPLITS}
    everything = [day for split in SPLITS for day in days[split]]
    assert {split: len(days[split]) for split in SPLITS} == counts
    assert len(set(everything)) == len(everything)
    assert {day.year for day in everything} == {year}


def test_the_source_varies_and_the_target_does_not() -> None:
    for weekday, ways, wanted in ((True, WITH_WEEKDAY, "full"), (False, WITHOUT_WEEKDAY, "long")):
        found = set()
        dates = Dates(source="de", target="iso", weekday=weekday, train=60)
        named = Dates(source="de", target="en", weekday=weekday, train=60)
        for (source, day), (same, target) in zip(dates.read("train"), named.read("train"), strict=True):
            forms = [write(date.fromisoformat(day), "de", way) for way in ways]
            assert source == same
            assert source in forms
            assert target == write(date.fromisoformat(day), "en", wanted)
            found.add(forms.index(source))
        assert found == {0, 1, 2}


def test_nobody_is_asked_to_reckon_the_weekday() -> None:
    source, target = next(Dates(source="iso", target="en", train=1).read("test"))
    assert target == write(date.fromisoformat(source), "en", "long")


def test_pairs_are_a_function_of_the_options() -> None:
    pairs = list(Dates(train=10).read("test"))
    assert list(Dates(train=10).read("test")) == pairs
    assert list(Dates(train=500).read("test")) == pairs
    assert list(Dates(train=10, seed=2).read("test")) != pairs
    assert [day for day, _ in Dates(source="iso", train=1, test=3).read("test")] == FIRST
    others = [Dates(seed=2), Dates(weekday=False), Dates(source="de"), Dates(last_year=2098), Dates(first_year=1901)]
    assert len({data.fingerprint() for data in (Dates(), *others)}) == 6
    assert Dates().fingerprint() == Dates().fingerprint()


def test_some_languages_of_other_scripts_write_one_line() -> None:
    for language in ("ar", "bg", "fa", "hi", "ja", "zh_Hans", "pt_BR"):
        assert language in languages()
        for way in (*WITH_WEEKDAY, *WITHOUT_WEEKDAY):
            text = write(DAY, language, way)
            assert text == " ".join(text.split())
            assert "2026" in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"first_year": 2000, "last_year": 1999}, "last_year: 1999 is not from first_year = 2000"),
        ({"last_year": 10_000}, "last_year: 10000 is not from first_year = 1900 to 9999"),
        ({"first_year": 2000, "last_year": 2000}, "valid: 500 is more than a fifth of the 366 days from 2000 to 2000"),
        ({"first_year": 2000, "last_year": 2009}, "train: 20000 is more than the 3653 days from 2000 to 2009 can give"),
        ({"source": "kor"}, "source: no language is called 'kor'; did you mean"),
        ({"target": "elvish"}, "target: no language is called 'elvish'"),
        ({"target": "ko"}, "target: 'ko' is the source already"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        Dates(**options)
