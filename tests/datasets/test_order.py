"""A shuffle that is a formula: every number once, in orders of chance, and as large as one likes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.datasets.order import HELD, Reckoned, shuffled


@settings(deadline=None, max_examples=60, derandomize=True)
@given(size=st.integers(1, 3000), seed=st.integers(0, 99), cut=st.integers(1, 500))
def test_every_number_comes_once_however_it_is_asked_for(size: int, seed: int, cut: int) -> None:
    order = Reckoned(size, np.random.default_rng(seed))
    found = order[0:size]
    assert sorted(found.tolist()) == list(range(size))
    parts = [order[start : start + cut] for start in range(0, size, cut)]
    assert np.concatenate(parts).tolist() == found.tolist()


@pytest.mark.parametrize("size", [10_007, 20_011])  # of an even and an odd number of bits
def test_orders_are_of_chance(size: int) -> None:
    orders = [Reckoned(size, np.random.default_rng((seed, 1)))[0:size] for seed in range(20)]
    for order in orders:
        assert abs(np.corrcoef(order, np.arange(size))[0, 1]) < 0.05
        assert abs(np.corrcoef(order[1:], order[:-1])[0, 1]) < 0.05
        assert (order == np.arange(size)).sum() < 10  # 1 on average
    assert abs(np.corrcoef(orders)[np.triu_indices(20, 1)]).max() < 0.05
    first = [int(Reckoned(10, np.random.default_rng(seed))[0:1][0]) for seed in range(2000)]
    assert np.bincount(first, minlength=10) == pytest.approx(200, abs=75)  # 13 is one standard deviation


def test_few_are_shuffled_as_numpy_does_and_many_are_reckoned() -> None:
    few = shuffled(1000, np.random.default_rng(5))
    assert few[:].tolist() == np.random.default_rng(5).permutation(1000).tolist()
    assert isinstance(shuffled(HELD + 1, np.random.default_rng(5)), Reckoned)
    far = shuffled(10**13, np.random.default_rng(5))[10**12 : 10**12 + 1000]
    assert len({*far.tolist()}) == 1000
    assert 0 <= far.min() < 10**11
    assert 10**13 > far.max() > 9 * 10**12
