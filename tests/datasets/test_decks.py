"""Decks: every card once, evenly from all, and no card in two splits."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.datasets.data import SPLITS, Split
from regard.datasets.decks import HELD_SHARE, Deck, check_counts, deal, deal_splits

many = settings(deadline=None, max_examples=100, derandomize=True)
COUNTS = st.fixed_dictionaries({split: st.integers(0, 90) for split in SPLITS})


@many
@given(st.integers(1, 60), st.lists(st.integers(0, 25), max_size=6))
def test_a_deck_deals_every_card_once(size: int, counts: list[int]) -> None:
    deck = Deck(size, "a")
    dealt = [card for count in counts for card in deck.deal(count)]
    assert len(dealt) == min(size, sum(counts))
    assert deck.left == size - len(dealt)
    assert sorted(dealt + deck.deal(size)) == list(range(size))


def test_a_deck_may_be_larger_than_memory() -> None:
    cards = Deck(52**400, "a").deal(100)
    assert len(set(cards)) == 100
    assert max(cards) > 52**398


@many
@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 300), st.integers(1, 5))
def test_decks_give_evenly_as_far_as_they_reach(sizes: list[int], count: int, share: int) -> None:
    given_by = Counter(place for place, _ in deal([Deck(size, str(n)) for n, size in enumerate(sizes)], count, share))
    limits = [size // share for size in sizes]
    assert given_by.total() == min(count, sum(limits))
    assert all(given_by[place] <= limit for place, limit in enumerate(limits))
    not_exhausted = [given_by[place] for place, limit in enumerate(limits) if given_by[place] < limit]
    assert not not_exhausted or max(given_by.values(), default=0) - min(not_exhausted) <= 1


@many
@given(sizes=st.lists(st.integers(1, 60), min_size=1, max_size=4), counts=COUNTS, seed=st.integers(0, 3))
def test_splits_share_no_card_and_held_out_ones_do_not_depend_on_train(
    sizes: list[int], counts: dict[Split, int], seed: int
) -> None:
    def dealt(counts: dict[Split, int]) -> dict[Split, list[tuple[int, int]]]:
        decks = [Deck(size, f"{seed} {n}") for n, size in enumerate(sizes)]
        return deal_splits(dict.fromkeys(SPLITS, decks), counts, seed)

    found = dealt(counts)
    everything = [card for split in SPLITS for card in found[split]]
    assert len(set(everything)) == len(everything)
    for split in ("valid", "test"):
        assert len(found[split]) <= sum(size // HELD_SHARE for size in sizes)
        assert found[split] == dealt(counts | {"train": 0})[split]


def test_promises_are_checked() -> None:
    wanted: dict[Split, int] = {"train": 60, "valid": 20, "test": 20}
    check_counts([100], wanted, "cards", "more")
    with pytest.raises(ValueError, match="^train: 61 is more than the 100 cards can give; ask for 60 or more$"):
        check_counts([100], wanted | {"train": 61}, "cards", "more")
    with pytest.raises(ValueError, match="^valid: 21 is more than a fifth of the 100 cards; ask for 20 or more$"):
        check_counts([100], wanted | {"valid": 21}, "cards", "more")
    with pytest.raises(ValueError, match="^valid: 20 is more than a fifth of the 4 cards; more$"):
        check_counts([4], wanted, "cards", "more")
