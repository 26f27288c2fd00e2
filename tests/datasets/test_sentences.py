"""Sentences: nothing lost, whatever the text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.datasets.sentences import BLOCK, count, sentences, single_share

ODD = [
    "。",
    "「",
    "」",
    ".",
    "? ",
    "! ",
    "\n\n",
    "\r",
    "\0",
    "\u200b",
    "a",
    "Ein Hund. ",
    "1. ",
    "* ",
    '"',
    "(",
    "\u2028",
    "é",
]


@settings(deadline=None, max_examples=200, derandomize=True)
@given(
    st.lists(st.sampled_from(ODD)).map("".join) | st.text(), st.sampled_from(["de", "en", "ko", "xx", "", "3", "zh_CN"])
)
def test_the_sentences_of_a_text_are_the_text(text: str, language: str) -> None:
    assert "".join(sentences(text, language)) == text


@pytest.mark.parametrize(
    ("language", "text", "parts"),
    [
        ("de", "Er kam am 3. Mai.  Sie ging!\tWarum? Darum.", 4),
        ("de_DE", "Dr. Meier kam. Er ging.", 2),
        ("de", "ein hund läuft. eine frau sitzt.", 2),  # without capitals the rules of German see no end
        ("en", "Mr. Smith has 3.5 dogs. They bark.", 2),
        ("ko", "안녕하세요. 잘 지내세요? 네!", 3),
        ("zh", "你好。再见！", 2),
        ("tlh", "Unknown tongue. Two of it.", 2),
        ("source", "No tongue at all. Two of it.", 2),
        ("de", "Sie steht im Wasser. 2 Mädchen sitzen. Er trägt einen Bart.\nEin Mann, Abs. 3, am 3. Mai.", 4),
        ("en", "  ", 0),
    ],
)
def test_sentences_end_where_they_do(language: str, text: str, parts: int) -> None:
    assert count(text, language) == parts


@pytest.mark.parametrize("unit", ["「あ。", "Ein Hund läuft. ", "a", ". ", "\n", "“Ja. "])
def test_endless_texts_are_looked_at_in_blocks(unit: str) -> None:
    text = unit * 30_000
    found = sentences(text, "de")
    assert "".join(found) == text
    assert max(map(len, found)) <= BLOCK
    if unit == "Ein Hund läuft. ":
        assert found == [unit] * 30_000


def test_how_many_sources_are_one_sentence() -> None:
    assert single_share(["Ein Hund.", "", "Zwei. Drei.", "Vier"], "de") == 0.75
    assert single_share([]) == 0.0


def test_a_block_is_short_enough_for_what_costs_its_square() -> None:
    assert BLOCK <= 4096


def test_what_the_library_loses_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.datasets.sentences.segment", lambda language, text: [text[:2], text[3:]])
    assert sentences("Ein Hund. Zwei.", "de") == ["Ein Hund. Zwei."]
