"""A continuation, told token by token behind its prompt, is exact to the character in every style."""

from functools import cache
from itertools import takewhile

import pytest
from foreign import STYLES, TEXTS, table
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.datasets.tokenizer import Bpe, Characters, Tokenizer, Unigram, Words
from regard.datasets.tokenizer.tokenizer import open_engine

many = settings(deadline=None, max_examples=150, derandomize=True)
OWN = {"bpe": Bpe, "unigram": Unigram, "words": Words, "characters": Characters}
every = pytest.mark.parametrize("style", [*STYLES, *OWN])
PIECES = ["dog", " dog", *" .a▁éŸ\n\ufffd", "  ", "한", "국어", " 풀밭을", "😀", "👍🏽", "<0xED>"]
LONG = ["한" * 40, "개가 푸른 풀밭을 달린다. 두 남자가 기타를 친다. dog", "dog 😀👍🏽개" * 8, " a  b   c "]
ANY = st.one_of(st.text(max_size=20), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))


@cache
def tokenizer(style: str) -> Tokenizer:
    return OWN[style]().train(TEXTS) if style in OWN else Tokenizer(open_engine(table(style)), None, None, 0)


def chunks(made: Tokenizer, ids: list[int], cut: int) -> list[str]:
    stream = made.stream(ids[:cut])
    return [*(stream.add(token) for token in ids[cut:]), stream.rest()]


def shared(one: str, other: str) -> str:
    return "".join(letter for letter, _ in takewhile(lambda two: two[0] == two[1], zip(one, other, strict=False)))


def check(made: Tokenizer, text: str, cut: int) -> None:
    (ids,) = made.encode([text])
    cut %= len(ids) + 1
    prompt, whole = made.decode([ids[:cut], ids])
    told = chunks(made, ids, cut)
    # A prompt that ends inside a character has no text of its own there; the character is told whole.
    assert shared(prompt, whole) + "".join(told) == whole
    if whole.startswith(prompt):
        assert prompt + "".join(told) == whole
    if "\ufffd" not in whole:
        assert "\ufffd" not in "".join(told)


@many
@given(style=st.sampled_from([*STYLES, *OWN]), text=ANY, cut=st.integers(0, 10**6))
def test_prompt_and_chunks_are_the_text_of_all(style: str, text: str, cut: int) -> None:
    check(tokenizer(style), text, cut)


@every
@pytest.mark.parametrize("text", LONG, ids=["one", "korean", "emoji", "spaces"])
def test_every_cut_of_a_long_text(style: str, text: str) -> None:
    """Longer than any window: characters of three bytes fit no window of even length."""
    made = tokenizer(style)
    for cut in range(len(made.encode([text])[0]) + 1):
        check(made, text, cut)


@every
def test_a_character_comes_when_it_is_whole(style: str) -> None:
    made = tokenizer(style)
    for text in ("a한b", "a😀b"):
        (ids,) = made.encode([text])
        whole = made.decode([ids])[0]
        told = chunks(made, ids, 0)
        assert "".join(told) == whole
        assert told[-1] == ""  # nothing is held back at the end of a whole text
        if len(ids) >= len(text.encode()):  # spelt in bytes
            assert [chunk for chunk in told if chunk] == list(whole)


@every
def test_a_continuation_keeps_the_space_before_its_first_word(style: str) -> None:
    made = tokenizer(style)
    (ids,) = made.encode(["two men are watching it"])
    found = {made.decode([ids[:cut]])[0]: "".join(chunks(made, ids, cut)) for cut in range(len(ids))}
    assert all(prompt + rest == "two men are watching it" for prompt, rest in found.items())
    assert any(prompt and rest.startswith(" ") for prompt, rest in found.items())


@every
def test_special_tokens_say_nothing_and_change_nothing(style: str) -> None:
    made = tokenizer(style)
    (ids,) = made.encode(["two men are 한 watching"])
    special = sorted(made.special)
    parted = [part for token in ids for part in (*special, token, *special)]
    (whole,) = made.decode([ids])
    for cut in range(len(parted) + 1):
        assert shared(made.decode([parted[:cut]])[0], whole) + "".join(chunks(made, parted, cut)) == whole


@pytest.mark.parametrize("style", ["gpt2", "llama", "bpe"])
def test_half_a_character_is_the_rest(style: str) -> None:
    made = tokenizer(style)
    (ids,) = made.encode(["dog 한"])
    stream = made.stream()
    assert "".join(stream.add(token) for token in ids[:-1]) == "dog "
    assert set(stream.rest()) == {"\ufffd"}
    assert stream.rest() == ""
