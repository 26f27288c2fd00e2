"""Number words between languages, and the decks of cards that generated data are dealt from."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version

from regard.data.pairs import Pair, Pairs, Split, digest
from regard.recipe import Count, Number
from regard.recipe.errors import nearest

FIGURES = "digits"
GREATEST = 999_999
UNUSABLE = {"am"}  # num2words 0.5.14 raises for most Amharic numbers from 1100 on, and hangs for some
HELD_SHARE = 5

# What num2words 0.5.14 misspells: einhunderteinstausend, centodicotto, centoventitre.
MENDED = {
    "de": [("einstausend", "eintausend")],
    "it": [("dicotto", "diciotto"), ("(?<=.)tre$", "tré")],
}


class Deck:
    """The numbers from 0 to `size` - 1 in a random order, each dealt once and never all held."""

    def __init__(self, size: int, seed: str) -> None:
        self.size = self.left = size
        self._chance = random.Random(seed)
        self._moved: dict[int, int] = {}

    def deal(self, count: int) -> list[int]:
        """The next cards; fewer when the deck runs out."""
        return [self._next() for _ in range(min(count, self.left))]

    def _next(self) -> int:
        # A shuffle in place that remembers only the places it has touched.
        self.left -= 1
        drawn = self._chance.randrange(self.left + 1)
        last = self._moved.pop(self.left, self.left)
        if drawn == self.left:
            return last
        card = self._moved.get(drawn, drawn)
        self._moved[drawn] = last
        return card


def deal(decks: Sequence[Deck], count: int, share: int) -> list[tuple[int, int]]:
    """Evenly from all decks as far as each reaches, at most one in `share` of its cards: (deck, card)."""
    limits = sorted((min(deck.left, deck.size // share), place) for place, deck in enumerate(decks))
    dealt = []
    for rank, (limit, place) in enumerate(limits):
        part = min(limit, count // (len(limits) - rank))
        dealt += [(place, card) for card in decks[place].deal(part)]
        count -= part
    return dealt


def deal_splits(
    decks: Mapping[Split, Sequence[Deck]], counts: Mapping[Split, int], seed: int
) -> dict[Split, list[tuple[int, int]]]:
    """Three splits that share no card. A longer training split leaves the others as they were."""
    order: tuple[Split, ...] = ("test", "valid", "train")
    dealt = {split: deal(decks[split], counts[split], 1 if split == "train" else HELD_SHARE) for split in order}
    for split, cards in dealt.items():
        random.Random(f"{seed} {split}").shuffle(cards)
    return dealt


def check_counts(sizes: Sequence[int], counts: Mapping[Split, int], what: str, remedy: str) -> None:
    """Refuse to promise more different pairs than there are."""
    there, held = sum(sizes), sum(size // HELD_SHARE for size in sizes)
    for split in ("valid", "test"):
        if counts[split] > held:
            fewer = f"ask for {held} or {remedy}" if held else remedy
            raise ValueError(f"{split}: {counts[split]} is more than a fifth of the {there} {what}; {fewer}")
    if sum(counts.values()) > there:
        most = there - counts["valid"] - counts["test"]
        raise ValueError(
            f"train: {counts['train']} is more than the {there} {what} can give; ask for {most} or {remedy}"
        )


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

    def __init__(
        self,
        *,
        source: str = "de",
        target: str = "en",
        upto: Count = GREATEST,
        train: Count = 20_000,
        valid: Count = 500,
        test: Count = 500,
        seed: Number = 1,
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

    def fingerprint(self) -> str:
        options = [self.source, self.target, self.upto, self.counts, self.seed]
        return digest("numbers", version("num2words"), MENDED, *options)


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
