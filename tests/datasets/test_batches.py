"""Every row once an epoch, in an order that depends on seed and step alone, with little padding."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from regard.datasets import batches as module
from regard.datasets.batches import Buckets

some = settings(deadline=None, max_examples=40, derandomize=True)
SIDES = st.integers(1, 3)
MANY = np.array([(1 + n % 7, 1 + n % 5) for n in range(300)])


@st.composite
def lengths(draw: st.DrawFn) -> NDArray[np.int64]:
    """Rows of one side, two or three."""
    sides = draw(SIDES)
    rows = draw(st.lists(st.tuples(*[st.integers(1, 9)] * sides), min_size=1, max_size=40))
    return np.array(rows, np.int64)


def epoch(buckets: Buckets, number: int = 0) -> list[list[int]]:
    steps = range(number * len(buckets), (number + 1) * len(buckets))
    return [buckets.rows(step).tolist() for step in steps]


@some
@given(rows=lengths(), most=st.integers(1, 60), seed=st.integers(0, 9), at=st.integers(0, 5))
def test_every_row_is_seen_once_an_epoch(rows: NDArray[np.int64], most: int, seed: int, at: int) -> None:
    buckets = Buckets(rows, most, seed)
    everyone = Counter(range(len(rows)))
    assert Counter(number for batch in epoch(buckets, at) for number in batch) == everyone
    assert Counter(number for batch in buckets.in_order() for number in batch.tolist()) == everyone


@some
@given(rows=lengths(), most=st.integers(1, 60), seed=st.integers(0, 9))
def test_a_batch_is_as_large_as_it_may_be_and_no_larger(rows: NDArray[np.int64], most: int, seed: int) -> None:
    """One more token than a row has comes with each: its beginning or its end."""
    buckets = Buckets(rows, most, seed)
    longest = 1 + rows.max(1)
    for batch in (*epoch(buckets), *buckets.in_order()):
        assert len(batch) == 1 or len(batch) * longest[batch].max() <= most
    for batch, after in pairwise(buckets.in_order()):
        assert (len(batch) + 1) * max(longest[batch].max(), longest[after[0]]) > most


def test_a_step_however_far_is_found_without_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    walked, jumped = Buckets(MANY, 64, 5), Buckets(MANY, 64, 5)
    for step in range(3 * len(walked)):
        _ = walked.rows(step)
    made: list[object] = []
    generator = np.random.default_rng
    monkeypatch.setattr(module.np.random, "default_rng", lambda seed: made.append(seed) or generator(seed))
    assert jumped.rows(10**6).tolist() == walked.rows(10**6).tolist()
    assert made == [(5, 10**6 // len(walked))] * 2
    assert jumped.rows(7).tolist() == walked.rows(7).tolist()


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    buckets = Buckets(MANY, 64, 5)
    orders = [epoch(buckets), epoch(buckets, 1), epoch(Buckets(MANY, 64, 6))]
    assert epoch(Buckets(MANY, 64, 5), 1) == orders[1]
    for one, other in ((orders[0], orders[1]), (orders[0], orders[2]), (orders[1], orders[2])):
        assert one != other
        assert {frozenset(batch) for batch in one} != {frozenset(batch) for batch in other}
    longest = [MANY[batch].max() for batch in orders[0]]
    assert longest != sorted(longest)


def test_validation_is_always_in_the_same_order() -> None:
    one, other = (Buckets(MANY, 64, seed).in_order() for seed in (0, 1))
    assert [batch.tolist() for batch in one] == [batch.tolist() for batch in other]
    longest = [MANY[batch].max() for batch in one]
    assert longest == sorted(longest)


def test_at_least_95_of_100_positions_are_real() -> None:
    """Lengths like those of Multi30k in byte pairs: mean 14, spread 5, correlation 0.85."""
    generator = np.random.default_rng(0)
    both = generator.gamma(6, 2, 20_000)
    sides = [2 + np.rint(both * generator.lognormal(0, 0.15, 20_000)).astype(np.int64) for _ in range(2)]
    assert np.mean(sides) == pytest.approx(14, abs=0.5)
    assert np.corrcoef(sides)[0, 1] == pytest.approx(0.86, abs=0.02)
    rows = np.stack(sides, 1)
    seen = epoch(Buckets(rows, 4096, 1))
    real = (rows + 1).sum()
    assert sum((rows[batch] + 1).sum() for batch in seen) == real
    assert real >= 0.95 * sum(len(batch) * (rows[batch] + 1).max(0).sum() for batch in seen)


def test_no_rows_make_no_batches() -> None:
    buckets = Buckets(np.zeros((0, 2), np.int64), 64, 1)
    assert (len(buckets), buckets.in_order()) == (0, [])
