"""Surprise as a picture: every letter in its place, with the bits of its token."""

from pathlib import Path

import pytest

from regard.errors import InputError
from regard.looking.surprise import Surprise

SEEN = Surprise([("Lo", 3.0), ("ng", 0.5), (" ", 0.0), ("word", 9.0), ("\n", 1.0), ("$x$ 한", 12.0)])


def test_letters_have_the_bits_of_their_token_and_rows_end_between_words() -> None:
    rows = SEEN.rows(6)
    assert ["".join(letter for letter, _ in row) for row in rows] == ["Long ", "word", "$x$ 한"]
    assert [bits for _, bits in rows[0]] == [3.0, 3.0, 0.5, 0.5, 0.0]
    assert SEEN.bits == 25.5
    assert ["".join(letter for letter, _ in row) for row in Surprise([("abcdefgh", 1.0)]).rows(3)] == [
        "abc",
        "def",
        "gh",
    ]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_it_is_drawn(ending: str, tmp_path: Path) -> None:
    seen = Surprise([token for token in SEEN.tokens if token[0].isascii()])
    path = seen.draw(tmp_path / f"seen.{ending}", "a title with $ in it")
    assert path.stat().st_size > 1000
    with pytest.raises(InputError, match="pictures are written as"):
        seen.draw(tmp_path / "seen.txt")
