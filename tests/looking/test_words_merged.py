"""Sub-words make words: every token in one, in order, by rules that hold for every tokenizer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.datasets.tokenizer import Bpe, Bytes, Characters, Tokenizer, Unigram, Words
from regard.looking.line import joined, line, plain_line

TEXT = "Guten Abend, don't go.\nI've 안녕하세요 여러분! 漢字 😀 well-known"
SAID = ("Guten", "Abend", ",", "don't", "go", ".", "⏎", "I've", "안녕하세요", "여러분", "!")
MADE = {kind: kind().train([TEXT] * 3) for kind in (Bytes, Characters, Words, Bpe, Unigram)}
few = settings(deadline=None, max_examples=60, derandomize=True)


@pytest.mark.parametrize("kind", MADE)
def test_words_are_the_same_whatever_they_were_cut_into(kind: type) -> None:
    tokenizer = MADE[kind]
    found = line(tokenizer, [tokenizer.bos, *tokenizer.encode([TEXT])[0], tokenizer.eos])
    assert found.words[:12] == ("<bos>", *SAID)
    assert found.words[-4:] == ("well", "-", "known", "<eos>")
    assert found.special == {0, len(found) - 1}
    assert found.merged
    marks = {
        found.words[n]
        for n, (start, stop) in enumerate(found.spans)
        if stop - start == 1 and start in found.punctuation
    }
    assert {",", ".", "!", "-"} <= marks | {"."}


def test_letters_without_spaces_between_words_stand_alone() -> None:
    tokenizer = MADE[Bytes]
    found = line(tokenizer, tokenizer.encode(["漢字です 한국어"])[0])
    assert found.words == ("漢", "字", "で", "す", "한국어")
    assert [stop - start for start, stop in found.spans[1:4]] == [3, 3, 3]  # the bytes of one letter


@few
@given(st.text(max_size=40), st.sampled_from(list(MADE)))
def test_every_token_is_in_one_word(text: str, kind: type) -> None:
    tokenizer: Tokenizer = MADE[kind]
    ids = [*tokenizer.encode([text])[0], tokenizer.eos]
    found = line(tokenizer, ids)
    assert len(found) == len(ids)
    assert found.spans[0][0] == 0
    assert found.spans[-1][1] == len(ids)
    assert all(one[1] == other[0] and one[0] < one[1] for one, other in zip(found.spans, found.spans[1:], strict=False))
    assert found.words[-1] == "<eos>"
    assert all(found.words)
    assert all(found.tokens)


@few
@given(st.lists(st.integers(0, 255), max_size=12))
def test_bytes_that_are_no_letters_break_nothing(ids: list[int]) -> None:
    found = line(MADE[Bytes], ids)
    assert sum(stop - start for start, stop in found.spans) == len(ids)


def test_pieces_are_joined_and_cut_out_again() -> None:
    tokenizer = MADE[Characters]
    one, two = (line(tokenizer, [*tokenizer.encode([text])[0], tokenizer.eos]) for text in ("Guten Abend", "go"))
    both = joined([one, two])
    assert both.words == (*one.words, *two.words)
    assert both.starts == (0, len(one))
    assert both.spans == (*one.spans, *((len(one) + start, len(one) + stop) for start, stop in two.spans))
    assert both.special == {len(one) - 1, len(both) - 1}
    part, first = both.part(1, 3, words=True)
    assert (part.words, first) == (("Abend", "<eos>"), both.spans[1][0])
    assert part.spans[0][0] == 0
    tokens, first = both.part(2, 5, words=False)
    assert (tokens.words, first) == (both.tokens[2:5], 2)
    assert plain_line(["a", "b"]).spans == ((0, 1), (1, 2))
