"""Number words between languages."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.metadata import version
from typing import Annotated, Any

from annotated_doc import Doc

from regard.datasets.data import Split
from regard.datasets.decks import Deck, check_counts, deal_splits
from regard.datasets.options import Seed, Test, Train, Valid
from regard.datasets.pairs import Pair, Pairs
from regard.recipe import Count
from regard.recipe.errors import nearest

FIGURES = "digits"
GREATEST = 999_999
UNUSABLE = {"am"}  # num2words 0.5.14 raises for most Amharic numbers from 1100 on, and hangs for some

# What num2words 0.5.14 misspells: einhunderteinstausend, centodicotto, centoventitre.
MENDED = {
    "de": [("einstausend", "eintausend")],
    "it": [("dicotto", "diciotto"), ("(?<=.)tre$", "tré")],
}


def check_languages(source: str, target: str, known: Sequence[str]) -> None:
    """Both must be known, and differ."""
    for key, language in (("source", source), ("target", target)):
        if language not in known:
            raise ValueError(f"{key}: no language is called {language!r}{nearest(language, known)}")
    if source == target:
        raise ValueError(f"target: {target!r} is the source already; choose another language")


class Numbers(Pairs):
    """Number words from one language to another: zweihunderteinundzwanzig → two hundred and twenty-one.

    Languages are those of num2words, or `digits` for figures. Every number of digits is drawn
    equally often as far as there are such numbers, so small and large ones both occur.
    No number is in two splits, and at most a fifth of the numbers of one length in `valid` or `test`.
    """

    licence = "made here, by num2words: bound to no licence"

    def __init__(
        self,
        *,
        source: Annotated[str, Doc("Language to translate from: one of num2words such as de, or digits.")] = "de",
        target: Annotated[str, Doc("Language to translate into: one of num2words such as en, or digits.")] = "en",
        upto: Annotated[Count, Doc("Greatest number that occurs, 999,999 at most.")] = GREATEST,
        train: Train = 20_000,
        valid: Valid = 500,
        test: Test = 500,
        seed: Seed = 1,
    ) -> None:
        check_languages(source, target, languages())
        if upto > GREATEST:
            raise ValueError(f"upto: {upto} is more than {GREATEST}, up to which the words were checked")
        self.source, self.target, self.upto, self.seed = source, target, upto, seed
        self.counts: dict[Split, int] = {"train": train, "valid": valid, "test": test}
        check_counts([len(band) for band in self._bands()], self.counts, f"numbers up to {upto}", "raise upto")

    def _bands(self) -> list[range]:
        """The numbers of one digit, of two, of three …"""
        lengths = range(1, len(str(self.upto)) + 1)
        return [range(10 ** (n - 1) if n > 1 else 0, min(10**n - 1, self.upto) + 1) for n in lengths]

    @cached_property
    def _numbers(self) -> dict[Split, list[int]]:
        bands = self._bands()
        decks = [Deck(len(band), f"numbers {self.seed} {digits}") for digits, band in enumerate(bands)]
        dealt = deal_splits({"train": decks, "valid": decks, "test": decks}, self.counts, self.seed)
        return {split: [bands[place][card] for place, card in cards] for split, cards in dealt.items()}

    def read(self, split: Split) -> Iterator[Pair]:
        for number in self._numbers[split]:
            yield spell(number, self.source), spell(number, self.target)

    def identity(self) -> list[Any]:
        options = [self.source, self.target, self.upto, self.counts, self.seed]
        return [version("num2words"), MENDED, *options]


def languages() -> list[str]:
    """All that a number can be written in, those of the notes first."""
    from num2words import CONVERTER_CLASSES  # type: ignore[import-untyped]

    first = ["de", "en", "fr", "it", "ko", FIGURES]
    return first + sorted(set(CONVERTER_CLASSES) - set(first) - UNUSABLE)


def spell(number: int, language: str) -> str:
    """A number in words, or in figures for `digits`."""
    if language == FIGURES:
        return str(number)
    from num2words import num2words

    words = " ".join(str(num2words(number, lang=language)).split())  # some languages end in a space
    for seen, meant in MENDED.get(language, []):
        words = re.sub(seen, meant, words)
    return words
