"""The phrasebook: whole in every language, and what is held out is new."""

import re
from itertools import permutations

import pytest

from regard.datasets.data import SPLITS
from regard.datasets.phrases import ORDER, PHRASES, Language, Phrases

LETTERS: dict[str, str] = {
    "en": r"[A-Za-z' ,.?!]+",
    "de": r"[A-Za-zÄÖÜäöüß ,.?!]+",
    "fr": r"[A-Za-zÀÉàâçèéêîôùû' ,.?!-]+",
    "it": r"[A-Za-zÈàèìòùé' ,.?!]+",
    "ko": r"[가-힣 .?!]+",
}


def test_the_two_examples_of_the_notes_are_trained_on() -> None:
    assert ("좋은 저녁입니다.", "Good evening.") in list(Phrases(source="ko").read("train"))
    assert ("guten abend", "good evening") in list(Phrases().read("train"))


@pytest.mark.parametrize(("source", "target"), list(permutations(ORDER, 2)))
def test_each_phrase_is_in_one_split_and_once(source: Language, target: Language) -> None:
    data = Phrases(source=source, target=target)
    found = [pair for split in SPLITS for pair in data.read(split)]
    assert len(found) == len(PHRASES) == 65
    assert len({one for one, _ in found}) == len({other for _, other in found}) == len(found)
    assert [len(list(data.read(split))) for split in SPLITS] == [57, 4, 4]


@pytest.mark.parametrize("language", ORDER)
def test_a_column_holds_its_own_language(language: Language) -> None:
    for row in ((phrase, *others) for phrase, others in PHRASES.items()):
        text = row[ORDER.index(language)]
        assert re.fullmatch(LETTERS[language], text), text
        assert text == " ".join(text.split())
        assert text[-1] == row[0][-1] or row[0] == "good evening", text


def test_held_out_phrases_say_known_words_in_new_company() -> None:
    def words(text: str) -> set[str]:
        return set(re.findall(r"[a-z']+", text.lower()))

    known = set().union(*(words(target) for _, target in Phrases().read("train")))
    for split in ("valid", "test"):
        for _, target in Phrases().read(split):
            assert words(target) <= known


def test_a_language_is_not_translated_into_itself() -> None:
    with pytest.raises(ValueError, match="target: 'en' is the source already"):
        Phrases(source="en")


def test_fingerprints_tell_language_pairs_apart() -> None:
    pairs = list(permutations(ORDER, 2))
    assert len({Phrases(source=source, target=target).fingerprint() for source, target in pairs}) == len(pairs)
