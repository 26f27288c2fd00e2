"""Sentence pairs: a source, and a target that translates it."""

from regard.datasets.data import Data, Split

Pair = tuple[str, str]


class Pairs(Data[Pair]):
    """Sentence pairs in three splits that share no equal pair."""

    source: str
    """The language, or whatever else the source side is called."""
    target: str

    def called(self, split: Split) -> str:
        return f"{super().called(split)} ({self.source} → {self.target})"
