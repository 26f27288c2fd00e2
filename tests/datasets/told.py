"""Rows from a list, for tests of what happens to data."""

from collections.abc import Iterator
from typing import Any

from regard.datasets.data import Data, Split
from regard.datasets.pairs import Pair, Pairs

PAIRS: list[Pair] = [(f"Hund {n} läuft" + " weit" * (n % 5), f"dog {n} runs") for n in range(40)]


class Told(Pairs):
    """Pairs from a list; says how often they were read."""

    source, target = "de", "en"

    def __init__(self, pairs: list[Pair]) -> None:
        self.pairs, self.reads = pairs, 0

    def read(self, split: Split) -> Iterator[Pair]:
        self.reads += 1
        yield from self.pairs if split == "train" else self.pairs[:3]

    def identity(self) -> list[Any]:
        return [self.pairs]


class Lines(Data[tuple[str]]):
    """Data of one side."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    def read(self, split: Split) -> Iterator[tuple[str]]:
        yield from ((text,) for text in self.texts)

    def identity(self) -> list[Any]:
        return [self.texts]
