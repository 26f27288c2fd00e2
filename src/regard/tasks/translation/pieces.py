"""A text cut into what a model reads at once: whole, sentence by sentence, or between words where it must be."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from regard.datasets.sentences import sentences
from regard.datasets.tokenizer import Tokenizer

WORD = re.compile(r"\S+")
SLICE = 1024  # characters of a word that are looked at together
WIDEST = 32  # characters of a token at most, on an average: what has more is not even tried as a whole
MARKS = "。！？｡"  # sentences that end so have no white space between them, in languages that have none


@dataclass(frozen=True)
class Piece:
    """What a model reads at once, and the white space that stood between it and the piece before."""

    ids: list[int]
    gap: str = ""


@dataclass(frozen=True)
class Cutter:
    """Cuts texts into pieces of at most `most` ids. With `split` every sentence is a piece of its own, else only
    those of a text that is too long. White space around a text is no part of it. The time is linear in the length.
    """

    tokenizer: Tokenizer
    most: int
    language: str
    split: bool

    def cut(self, text: str) -> list[Piece]:
        """The pieces in their order; none if there is nothing but white space."""
        bare = text.strip()
        if not bare:
            return []
        if not self.split and (fitting := self._fitting(bare)) is not None:
            return [Piece(fitting)]
        return list(self._sentences(bare))

    def _fitting(self, text: str) -> list[int] | None:
        """The ids of a text, unless there are too many."""
        ids = self.tokenizer.encode([text])[0] if len(text) <= WIDEST * self.most else None
        return ids if ids is not None and len(ids) <= self.most else None

    def _sentences(self, text: str) -> Iterator[Piece]:
        gap = ""
        for sentence in sentences(text, self.language):
            bare = sentence.strip()
            gap += sentence[: len(sentence) - len(sentence.lstrip())]
            if not bare:
                continue
            ids = self._fitting(bare)
            yield from [Piece(ids, gap)] if ids is not None else self._words(bare, gap)
            gap = sentence[len(sentence.rstrip()) :] or (" " if bare[-1] in MARKS else "")

    def _words(self, sentence: str, gap: str) -> Iterator[Piece]:
        """As many words as fit, again and again; only a word that is too long by itself is cut inside."""
        row: list[int] = []
        for between, ids in self._parts(sentence):
            if row and len(row) + len(ids) > self.most:
                yield Piece(row, gap)
                row, gap = [], between
            row = row + ids
        if row:
            yield Piece(row, gap)

    def _parts(self, sentence: str) -> Iterator[tuple[str, list[int]]]:
        """The ids of the words, those of an endless one in parts that fit, with the white space before them."""
        spans = [
            (start, min(start + SLICE, word.end()))
            for word in WORD.finditer(sentence)
            for start in range(word.start(), word.end(), SLICE)
        ]
        before = 0
        for (start, end), ids in zip(spans, self.tokenizer.encode([sentence[a:b] for a, b in spans]), strict=True):
            for place in range(0, len(ids), self.most):
                yield sentence[before:start] if not place else "", ids[place : place + self.most]
            before = end
