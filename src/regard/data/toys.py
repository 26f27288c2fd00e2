"""Toy tasks over letters: what they teach can be checked by eye."""

from collections.abc import Iterator
from functools import cached_property
from string import ascii_letters
from typing import Literal

from regard.data.numbers import HELD_SHARE, Deck, deal_splits
from regard.data.pairs import Pair, Pairs, Split, digest
from regard.recipe import Count, Number


class Toys(Pairs):
    """Letters to copy, reverse or sort: `c a b` reversed is `b a c`.

    Lengths from `shortest` to `longest` are drawn equally often, each sequence once, as far as
    there are such sequences: where there are too few, a split is smaller than asked for.
    `test_longest` gives the test split other lengths, to see where a fixed vector fails;
    0 means the same as `longest`.
    """

    def __init__(
        self,
        *,
        task: Literal["copy", "reverse", "sort"] = "reverse",
        letters: Count = 10,
        shortest: Count = 1,
        longest: Count = 12,
        test_longest: Number = 0,
        train: Count = 20_000,
        valid: Count = 500,
        test: Count = 500,
        seed: Number = 1,
    ) -> None:
        if letters > len(ascii_letters):
            raise ValueError(f"letters: {letters} is more than the {len(ascii_letters)} there are, from a to Z")
        for key, length in (("longest", longest), ("test_longest", test_longest or longest)):
            if length < shortest:
                raise ValueError(f"{key}: {length} is less than shortest = {shortest}; choose a greater one")
            if letters**length < HELD_SHARE:
                raise ValueError(f"{key}: {length} of {letters} letters make too few sequences; raise it or letters")
        self.source, self.target = "letters", task
        self.task, self.letters, self.seed = task, letters, seed
        self.shortest, self.longest, self.test_longest = shortest, longest, test_longest or longest
        self.counts: dict[Split, int] = {"train": train, "valid": valid, "test": test}

    @cached_property
    def _sequences(self) -> dict[Split, list[tuple[int, int]]]:
        """Length and number of each sequence: written with `letters` figures, a number is a sequence."""
        lengths = range(self.shortest, max(self.longest, self.test_longest) + 1)
        decks = [Deck(self.letters**length, f"toys {self.seed} {length}") for length in lengths]
        short, other = decks[: self.longest - self.shortest + 1], decks[: self.test_longest - self.shortest + 1]
        dealt = deal_splits({"train": short, "valid": short, "test": other}, self.counts, self.seed)
        return {split: [(lengths[place], card) for place, card in cards] for split, cards in dealt.items()}

    def read(self, split: Split) -> Iterator[Pair]:
        for length, number in self._sequences[split]:
            places = _figures(number, self.letters, length)
            yield _written(places), _written(self._answer(places))

    def _answer(self, places: list[int]) -> list[int]:
        match self.task:
            case "copy":
                return places
            case "reverse":
                return places[::-1]
            case "sort":
                return sorted(places)

    def fingerprint(self) -> str:
        lengths = [self.shortest, self.longest, self.test_longest]
        return digest("toy", self.task, self.letters, lengths, self.counts, self.seed)


def _figures(number: int, letters: int, length: int) -> list[int]:
    figures = []
    for _ in range(length):
        number, figure = divmod(number, letters)
        figures.append(figure)
    return figures


def _written(places: list[int]) -> str:
    return " ".join(ascii_letters[place] for place in places)
