"""Number words are right, and no number is in two splits."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.datasets.data import SPLITS, Split
from regard.datasets.numbers import Numbers, languages, spell
from regard.datasets.pairs import Pairs
from regard.recipe import Menu, RecipeError, Slot

many = settings(deadline=None, max_examples=100, derandomize=True)
few = settings(deadline=None, max_examples=40, derandomize=True)
FIRST = ["262069", "414", "9274", "20509", "82"]  # the same on every machine
THOUSANDS = st.integers(2, 999)
RESTS = st.integers(0, 999)


@pytest.mark.parametrize(
    ("number", "german", "english", "french", "italian", "korean"),
    [
        (0, "null", "zero", "zéro", "zero", "영"),
        (1, "eins", "one", "un", "uno", "일"),
        (17, "siebzehn", "seventeen", "dix-sept", "diciassette", "십칠"),
        (71, "einundsiebzig", "seventy-one", "soixante et onze", "settantuno", "칠십일"),
        (80, "achtzig", "eighty", "quatre-vingts", "ottanta", "팔십"),
        (118, "einhundertachtzehn", "one hundred and eighteen", "cent dix-huit", "centodiciotto", "백십팔"),
        (
            123,
            "einhundertdreiundzwanzig",
            "one hundred and twenty-three",
            "cent vingt-trois",
            "centoventitré",
            "백이십삼",
        ),
        (
            221,
            "zweihunderteinundzwanzig",
            "two hundred and twenty-one",
            "deux cent vingt et un",
            "duecentoventuno",
            "이백이십일",
        ),
        (1000, "eintausend", "one thousand", "mille", "mille", "천"),
        (10_000, "zehntausend", "ten thousand", "dix mille", "diecimila", "만"),
        (
            80_200,
            "achtzigtausendzweihundert",
            "eighty thousand, two hundred",
            "quatre-vingt mille deux cents",
            "ottantamiladuecento",
            "팔만 이백",
        ),
        (
            101_003,
            "einhunderteintausenddrei",
            "one hundred and one thousand and three",
            "cent un mille trois",
            "centounomilatré",
            "십만 천삼",
        ),
    ],
)
def test_known_numbers(number: int, german: str, english: str, french: str, italian: str, korean: str) -> None:
    spelled = [spell(number, language) for language in ("de", "en", "fr", "it", "ko")]
    assert spelled == [german, english, french, italian, korean]
    assert spell(number, "digits") == str(number)


@many
@given(THOUSANDS, RESTS)
def test_german_and_italian_thousands_are_their_parts(thousands: int, rest: int) -> None:
    """The parts as spelled alone, but for `eins` and `tré`, which change before more words."""
    number = 1000 * thousands + rest
    after = "" if rest == 0 else spell(rest, "de")
    assert (
        spell(number, "de")
        == spell(thousands, "de").removesuffix("s" if thousands % 100 == 1 else "") + "tausend" + after
    )
    before = spell(thousands, "it")
    before = before[:-1] + "e" if before.endswith("é") else before
    after = "" if rest == 0 else "tré" if rest == 3 else spell(rest, "it")
    assert spell(number, "it") == f"{before}mila{after}"


@many
@given(THOUSANDS, RESTS)
def test_english_and_french_thousands_are_their_parts(thousands: int, rest: int) -> None:
    number = 1000 * thousands + rest
    joined = "" if rest == 0 else f" and {spell(rest, 'en')}" if rest < 100 else f", {spell(rest, 'en')}"
    assert spell(number, "en") == f"{spell(thousands, 'en')} thousand{joined}"
    before = spell(thousands, "fr")
    before = before[:-1] if before.endswith(("cents", "vingts")) else before
    assert spell(number, "fr") == f"{before} mille" + (f" {spell(rest, 'fr')}" if rest else "")


@many
@given(st.integers(2, 99), st.integers(0, 9_999))
def test_korean_counts_in_ten_thousands(myriads: int, rest: int) -> None:
    assert spell(10_000 * myriads + rest, "ko") == spell(myriads, "ko") + "만" + (
        f" {spell(rest, 'ko')}" if rest else ""
    )


@pytest.mark.parametrize("language", languages())
def test_every_language_writes_one_line_without_doubles(language: str) -> None:
    numbers = [*range(0, 130, 7), 1_100, 4_217, 20_050, 99_999, 100_001, 654_321, 999_999]
    words = [spell(number, language) for number in numbers]
    assert len(set(words)) == len(numbers)
    assert all(text and text == " ".join(text.split()) for text in words)


@few
@given(st.integers(0, 5), st.integers(1, 300), st.integers(1, 60), st.integers(1, 60), st.integers(400, 5_000))
def test_no_number_is_in_two_splits(seed: int, train: int, valid: int, test: int, upto: int) -> None:
    data = Numbers(source="digits", target="ko", upto=upto, train=train, valid=valid, test=test, seed=seed)
    numbers = {split: [int(figures) for figures, _ in data.read(split)] for split in SPLITS}
    everything = [number for split in SPLITS for number in numbers[split]]
    assert [len(numbers[split]) for split in SPLITS] == [train, valid, test]
    assert len(set(everything)) == len(everything)
    assert set(everything) <= set(range(upto + 1))


def test_every_number_of_digits_occurs_in_every_split() -> None:
    data = Numbers(source="digits", target="en", train=1_000)
    for split in SPLITS:
        lengths = Counter(len(figures) for figures, _ in data.read(split))
        assert set(lengths) == {1, 2, 3, 4, 5, 6}
    lengths = Counter(len(figures) for figures, _ in data.read("train"))
    assert lengths[1] == 6
    assert lengths[4] == pytest.approx(lengths[6], abs=1)


def test_all_numbers_can_be_used_up() -> None:
    data = Numbers(source="digits", target="en", upto=99, train=60, valid=20, test=20)
    assert {int(figures) for split in SPLITS for figures, _ in data.read(split)} == set(range(100))


def test_more_training_data_leave_the_held_out_ones_as_they_were() -> None:
    small = Numbers(source="digits", target="en", train=100)
    large = Numbers(source="digits", target="en", train=1_000)
    for split in ("valid", "test"):
        assert list(small.read(split)) == list(large.read(split))
    assert set(small.read("train")) < set(large.read("train"))


def test_pairs_are_a_function_of_the_options() -> None:
    def read(seed: int, split: Split = "test") -> list[tuple[str, str]]:
        return list(Numbers(train=10, test=5, seed=seed).read(split))

    assert read(1) == read(1)
    assert read(1) != read(2)
    assert [figures for figures, _ in Numbers(source="digits", train=1, test=5).read("test")] == FIRST
    assert Numbers().fingerprint() == Numbers().fingerprint()
    others = [Numbers(seed=2), Numbers(source="it"), Numbers(target="ko"), Numbers(upto=99_999), Numbers(train=7)]
    assert len({data.fingerprint() for data in (Numbers(), *others)}) == 6


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"upto": 99}, "valid: 500 is more than a fifth of the 100 numbers up to 99; ask for 20 or raise upto"),
        ({"upto": 2, "valid": 1}, "valid: 1 is more than a fifth of the 3 numbers up to 2; raise upto"),
        (
            {"upto": 9_999},
            "train: 20000 is more than the 10000 numbers up to 9999 can give; ask for 9000 or raise upto",
        ),
        ({"upto": 1_000_000}, "upto: 1000000 is more than 999999"),
        ({"source": "ed"}, "source: no language is called 'ed'; there is de, en, fr, it, ko, digits"),
        ({"target": "fr_BEL"}, "target: no language is called 'fr_BEL'; did you mean 'fr_BE'"),
        ({"source": "en"}, "target: 'en' is the source already"),
        ({"source": "am"}, "source: no language is called 'am'"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(options: dict[str, object], said: str) -> None:
    menu = Menu(Slot("data", Pairs, "data", {"numbers": Numbers}))
    with pytest.raises(RecipeError) as refused:
        menu.order("data", {"kind": "numbers", **options}, "data").build()
    assert str(refused.value).startswith(f"data: {said}")
