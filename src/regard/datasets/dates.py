"""Dates written out, between languages."""

from collections.abc import Iterator
from datetime import date
from functools import cached_property
from importlib.metadata import version
from typing import Annotated, Any

from annotated_doc import Doc

from regard.datasets.data import Split, dice
from regard.datasets.decks import Deck, check_counts, deal_splits
from regard.datasets.numbers import check_languages
from regard.datasets.options import Seed, Test, Train, Valid
from regard.datasets.pairs import Pair, Pairs
from regard.recipe import Count

PLAIN = "iso"
NAMED = ("full", "long", "medium")
# Never Babel's `short`: 15.11.26 does not say which century.
WITH_WEEKDAY = ("full", "yMMMEd", "yMEd")
WITHOUT_WEEKDAY = ("long", "medium", "yMd")


class Dates(Pairs):
    """Dates from one language to another: 2026년 11월 15일 일요일 → Sunday, November 15, 2026.

    Languages are those of Babel, or `iso` for 2026-11-15. The source is written in one of three
    ways, the target always in full; Korean puts the year first, so the order turns round.
    No day is in two splits. `weekday` names the day of the week on both sides; `iso` never does,
    and what its reader could only reckon is not asked of it.
    """

    licence = "made here, by Babel, in the words of the Unicode CLDR (Unicode-3.0)"

    def __init__(
        self,
        *,
        source: Annotated[
            str, Doc("Language to translate from: one of Babel such as ko, or iso for 2026-11-15.")
        ] = "ko",
        target: Annotated[
            str, Doc("Language to translate into: one of Babel such as en, or iso for 2026-11-15.")
        ] = "en",
        first_year: Annotated[Count, Doc("First year whose days occur.")] = 1900,
        last_year: Annotated[Count, Doc("Last year whose days occur, 9999 at most.")] = 2099,
        weekday: Annotated[bool, Doc("Whether both sides name the day of the week; iso never does.")] = True,
        train: Train = 20_000,
        valid: Valid = 500,
        test: Test = 500,
        seed: Seed = 1,
    ) -> None:
        check_languages(source, target, languages())
        if not first_year <= last_year <= date.max.year:
            raise ValueError(f"last_year: {last_year} is not from first_year = {first_year} to {date.max.year}")
        self.source, self.target, self.weekday, self.seed = source, target, weekday, seed
        self.first, self.last = date(first_year, 1, 1), date(last_year, 12, 31)
        self.counts: dict[Split, int] = {"train": train, "valid": valid, "test": test}
        there = f"days from {first_year} to {last_year}"
        check_counts([self._size()], self.counts, there, "take more years (first_year, last_year)")

    def _size(self) -> int:
        return self.last.toordinal() - self.first.toordinal() + 1

    @cached_property
    def _days(self) -> dict[Split, list[date]]:
        decks = [Deck(self._size(), f"dates {self.seed}")]
        dealt = deal_splits({"train": decks, "valid": decks, "test": decks}, self.counts, self.seed)
        start = self.first.toordinal()
        return {split: [date.fromordinal(start + card) for _, card in cards] for split, cards in dealt.items()}

    def read(self, split: Split) -> Iterator[Pair]:
        ways = WITH_WEEKDAY if self.weekday else WITHOUT_WEEKDAY
        answer = "full" if self.weekday and self.source != PLAIN else "long"
        for day in self._days[split]:
            way = ways[int(len(ways) * dice(self.seed, day.isoformat(), "way"))]
            yield write(day, self.source, way), write(day, self.target, answer)

    def identity(self) -> list[Any]:
        options = [self.source, self.target, self.weekday, self.counts, self.seed]
        return [version("babel"), self.first.isoformat(), self.last.isoformat(), *options]


def languages() -> list[str]:
    """All that a date can be written in, those of the notes first."""
    from babel.localedata import locale_identifiers

    first = ["de", "en", "fr", "it", "ko", PLAIN]
    return first + sorted(set(locale_identifiers()) - set(first))


def write(day: date, language: str, way: str) -> str:
    """A date in a language: `way` is a format that Babel names, or a skeleton of the fields wanted."""
    if language == PLAIN:
        return day.isoformat()
    from babel.dates import format_date, format_skeleton

    text = format_date(day, way, language) if way in NAMED else format_skeleton(way, day, locale=language)
    return " ".join(text.split())  # some languages put narrow or unbreakable spaces
