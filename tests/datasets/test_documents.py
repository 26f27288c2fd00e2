"""Documents in pieces: put together they are the text, and their tokens are those of the text."""

from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from regard.datasets.documents import pieces
from regard.datasets.menu import SLOTS
from regard.datasets.stream import lead
from regard.datasets.tokenizer import Pretrained, Tokenizer
from regard.recipe import Menu

many = settings(deadline=None, max_examples=100, derandomize=True)
KINDS = [kind for kind, part in sorted(Menu(*SLOTS).parts["tokenizer"].items()) if part.entry is not Pretrained]
UNITS = ["a", "word", " ", "  ", "\n", "\n\n", "\t", ".", "12", "é", "한국", "it's", "\u3000", "\x85", "😀", " \n x"]
TEXT = st.lists(st.sampled_from(UNITS), max_size=60).map("".join)


@cache
def learnt(kind: str) -> Tokenizer:
    trainer = Menu(*SLOTS).parts["tokenizer"][kind](**({} if kind == "bytes" else {"vocab_size": 0})).build()
    trainer.prefix = ""
    return trainer.train(["a word  it's\n\n12 한국 é. 😀", "word a word. a it's 12", "a    it's\n\n\n\n12"] * 5)


@many
@given(TEXT, st.integers(2, 20), st.integers(1, 30))
def test_pieces_are_the_text(text: str, size: int, block: int) -> None:
    blocks = [text[start : start + block] for start in range(0, len(text), block)]
    found = list(pieces(blocks, size))
    assert "".join(found) == text
    assert found == list(pieces([text], size))
    assert all(found)
    assert max(map(len, found), default=0) <= 2 * size


@pytest.mark.parametrize("kind", KINDS)
@many
@example("a    " * 12, 6)
@given(TEXT, st.integers(6, 20))
def test_the_tokens_of_the_pieces_are_those_of_the_text(kind: str, text: str, size: int) -> None:
    """Unless a word is longer than a piece."""
    tokenizer = learnt(kind)
    if all(len(word) < size // 2 for word in text.split()):
        parts = list(pieces([text], size))
        assert [token for row in tokenizer.encode(parts) for token in row] == tokenizer.encode([text])[0]


@pytest.mark.parametrize("kind", KINDS)
def test_what_goes_on_has_nothing_before_it(kind: str) -> None:
    tokenizer = learnt(kind)
    assert tokenizer.prefix == ""
    assert lead(tokenizer) == 0
    assert tokenizer.decode(tokenizer.encode(["word a", " word"])) == ["word a", " word"]
    again = Tokenizer.open(tokenizer.table())
    assert again.encode(["a\n word 😀"]) == tokenizer.encode(["a\n word 😀"])


def test_bytes_are_all_there_is() -> None:
    tokenizer = learnt("bytes")
    assert len(tokenizer) == 259
    assert [len(row) for row in tokenizer.encode(["a", "é", "한", "😀", ""])] == [1, 2, 3, 4, 0]
