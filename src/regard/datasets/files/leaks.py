"""Rows of one split that stand in another too: whoever has learnt them is not examined by them."""

import unicodedata
from collections.abc import Iterable

from regard.datasets.pairs import Pair

PAIR = "also in {}"
SOURCE = "with a source of {}"


def normal(text: str) -> str:
    """What texts that differ in case, white space or the way their characters are coded have in common."""
    folded = text if text.isascii() else unicodedata.normalize("NFKC", text)
    folded = folded.casefold()
    if not folded.isascii():
        folded = unicodedata.normalize("NFKC", folded)  # casefolding may leave what can be composed
    return " ".join(folded.split())


class Seen:
    """The pairs of other splits, by hash: millions of them need no more than their numbers.

    A pair is found by its source alone: a model that has seen it with another target has seen it.
    """

    def __init__(self, named: str, pairs: Iterable[Pair] = ()) -> None:
        self._named = named
        self._sources, self._pairs = set[int](), set[int]()
        for source, target in pairs:
            one = hash(normal(source))
            self._sources.add(one)
            self._pairs.add(hash((one, normal(target))))

    def why(self, source: str, target: str) -> str:
        """Why a pair must go, by its source in normal form, or nothing."""
        if not self._sources or (one := hash(source)) not in self._sources:
            return ""
        return (PAIR if hash((one, normal(target))) in self._pairs else SOURCE).format(self._named)
