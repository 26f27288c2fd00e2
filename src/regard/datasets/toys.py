"""Toy tasks over letters: what they teach can be checked by eye."""

from collections.abc import Iterator
from functools import cached_property
from string import ascii_letters
from typing import Annotated, Any, ClassVar, Literal

from annotated_doc import Doc

from regard.datasets.data import Split
from regard.datasets.decks import HELD_SHARE, Deck, deal_splits
from regard.datasets.options import Seed, Test, Train, Valid
from regard.datasets.pairs import Pair, Pairs
from regard.recipe import Count, Number

LONGEST = 1_000  # sequences of each length are counted, and these numbers grow with it


class Toys(Pairs):
    """Letters to copy, reverse or sort: `c a b` reversed is `b a c`.

    Lengths from `min_length` to `max_length` are drawn equally often, each sequence once, as far as
    there are such sequences: where there are too few, a split is smaller than asked for.
    `test_max_length` gives the test split other lengths, to see where a fixed vector fails;
    0 means the same as `max_length`.
    """

    suits: ClassVar[dict[str, str]] = {"tokenizer": "words"}  # every letter is a word, and there are few
    licence = "made here: bound to no licence"

    def __init__(
        self,
        *,
        operation: Annotated[
            Literal["copy", "reverse", "sort"], Doc("What is to be done with the letters.")
        ] = "reverse",
        letters: Annotated[Count, Doc("Number of different letters, from a on; 52 at most.")] = 10,
        min_length: Annotated[Count, Doc("Fewest letters in a sequence.")] = 1,
        max_length: Annotated[Count, Doc("Most letters in a sequence to train and validate on; 1,000 at most.")] = 12,
        test_max_length: Annotated[
            Number, Doc("Most letters in a test sequence, to see where a model fails; 0 means max_length.")
        ] = 0,
        train: Train = 20_000,
        valid: Valid = 500,
        test: Test = 500,
        seed: Seed = 1,
    ) -> None:
        if letters > len(ascii_letters):
            raise ValueError(f"letters: {letters} is more than the {len(ascii_letters)} there are, from a to Z")
        for key, length in (("max_length", max_length), ("test_max_length", test_max_length or max_length)):
            if length < min_length:
                raise ValueError(f"{key}: {length} is less than min_length = {min_length}; choose a greater one")
            if length > LONGEST:
                raise ValueError(f"{key}: {length:,} is more than {LONGEST:,}, the longest there are")
            if letters**length < HELD_SHARE:
                raise ValueError(f"{key}: {length} of {letters} letters make too few sequences; raise it or letters")
        self.source, self.target = "letters", operation
        self.operation, self.letters, self.seed = operation, letters, seed
        self.min_length, self.max_length, self.test_max_length = min_length, max_length, test_max_length or max_length
        self.counts: dict[Split, int] = {"train": train, "valid": valid, "test": test}

    @cached_property
    def _sequences(self) -> dict[Split, list[tuple[int, int]]]:
        """Length and number of each sequence: written with `letters` figures, a number is a sequence."""
        lengths = range(self.min_length, max(self.max_length, self.test_max_length) + 1)
        decks = [Deck(self.letters**length, f"toys {self.seed} {length}") for length in lengths]
        short, other = (
            decks[: self.max_length - self.min_length + 1],
            decks[: self.test_max_length - self.min_length + 1],
        )
        dealt = deal_splits({"train": short, "valid": short, "test": other}, self.counts, self.seed)
        return {split: [(lengths[place], card) for place, card in cards] for split, cards in dealt.items()}

    def read(self, split: Split) -> Iterator[Pair]:
        for length, number in self._sequences[split]:
            places = _figures(number, self.letters, length)
            yield _written(places), _written(self._answer(places))

    def _answer(self, places: list[int]) -> list[int]:
        match self.operation:
            case "copy":
                return places
            case "reverse":
                return places[::-1]
            case "sort":
                return sorted(places)

    def identity(self) -> list[Any]:
        lengths = [self.min_length, self.max_length, self.test_max_length]
        return [self.operation, self.letters, lengths, self.counts, self.seed]


def _figures(number: int, letters: int, length: int) -> list[int]:
    figures = []
    for _ in range(length):
        number, figure = divmod(number, letters)
        figures.append(figure)
    return figures


def _written(places: list[int]) -> str:
    return " ".join(ascii_letters[place] for place in places)
