"""Cards dealt to three splits: how generated data are drawn, so that no row is in two of them.

`random.sample` deals as well, but not the same cards: these are what the published figures were measured on.
"""

import random
from collections.abc import Mapping, Sequence

from regard.datasets.data import Split

HELD_SHARE = 5


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
