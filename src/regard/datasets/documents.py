"""Texts to go on with: documents, however long, in pieces that are small enough to hold."""

import re
from collections.abc import Iterable, Iterator

from regard.datasets.data import Data, Split

Text = tuple[str]

PIECE = 4096  # characters
CUT = re.compile(r"\s(?=\S)")


class Documents(Data[Text]):
    """Documents in three splits that share none.

    Rows are pieces. Those of one document have its number and follow one another; put together they are its text.
    """

    def characters(self, split: Split) -> int:
        """How much text a split has, as far as that is known without reading it; at most so much."""
        return self.count(split) * PIECE


def pieces(blocks: Iterable[str], size: int = PIECE) -> Iterator[str]:
    """A text, given in blocks of any sizes, in pieces of about `size` characters.

    Cut before white space that a word follows: there tokens never join, so that the tokens of the pieces are those of
    the text. Only a word that is longer than a piece is cut inside.
    """
    held = ""
    for block in blocks:
        held += block
        start = 0
        while len(held) - start > 2 * size:
            stop = _last_cut(held, start + 1, start + size)
            yield held[start:stop]
            start = stop
        held = held[start:]
    if held:
        yield held


def _last_cut(text: str, least: int, most: int) -> int:
    """The last place to cut up to `most`, else the first behind it, else `most` itself."""
    found = most
    for match in CUT.finditer(text, (least + most) // 2, most + 1):
        found = match.start()
    if found == most and not CUT.match(text, most):
        first = CUT.search(text, most, 2 * most - least)
        found = most if first is None else first.start()
    return found
