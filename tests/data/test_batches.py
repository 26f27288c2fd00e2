"""Every pair once an epoch, in an order that depends on seed and step alone, with little padding."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from regard.data import batches as module
from regard.data.batches import Batch, Batches, collate, rows
from regard.data.corpus import Corpus, Rows
from regard.data.tokens import BEGIN, END, PAD

some = settings(deadline=None, max_examples=40, derandomize=True)
LENGTHS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=40)
FIRST = 3


def side(lengths: NDArray[np.int64]) -> Rows:
    """Row i holds its own number, then counts on: no two rows are alike."""
    ids = [FIRST + number + 1000 * place for number, length in enumerate(lengths.tolist()) for place in range(length)]
    return Rows(np.array(ids, np.uint16), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def corpus(lengths: list[tuple[int, int]]) -> Corpus:
    sources, targets = np.array(lengths, np.int64).reshape(-1, 2).T
    return Corpus(side(sources), side(targets))


def numbers(batch: Batch) -> list[int]:
    """Which pairs are in a batch."""
    return (batch.source[:, 0] - FIRST).tolist()


def epoch(batches: Batches, number: int = 0) -> list[list[int]]:
    return [numbers(batches[step]) for step in range(number * len(batches), (number + 1) * len(batches))]


def same(one: Batch, other: Batch) -> bool:
    return all(torch.equal(tensor, vars(other)[name]) for name, tensor in vars(one).items())


@some
@given(lengths=LENGTHS, tokens=st.integers(1, 60), seed=st.integers(0, 9), at=st.integers(0, 5))
def test_every_pair_is_seen_once_an_epoch(lengths: list[tuple[int, int]], tokens: int, seed: int, at: int) -> None:
    batches = Batches(corpus(lengths), tokens, seed)
    everyone = Counter(range(len(lengths)))
    assert Counter(number for batch in epoch(batches, at) for number in batch) == everyone
    assert Counter(number for batch in batches.in_order() for number in numbers(batch)) == everyone


@some
@given(lengths=LENGTHS, tokens=st.integers(1, 60), seed=st.integers(0, 9))
def test_a_batch_is_as_large_as_it_may_be_and_no_larger(lengths: list[tuple[int, int]], tokens: int, seed: int) -> None:
    batches = Batches(corpus(lengths), tokens, seed)
    for batch in (*(batches[step] for step in range(len(batches))), *batches.in_order()):
        count = len(batch.source)
        assert count == 1 or max(batch.source.numel(), batch.given.numel()) <= tokens
    for batch, after in pairwise(batches.in_order()):
        first = int(max(after.source_lengths[0], after.lengths[0]))
        longest = max(batch.source.shape[1], batch.given.shape[1], first)
        assert (len(batch.source) + 1) * longest > tokens


@some
@given(lengths=LENGTHS, chosen=st.data())
def test_rows_are_shifted_by_one_and_padded(lengths: list[tuple[int, int]], chosen: st.DataObject) -> None:
    held = corpus(lengths)
    picked = chosen.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=5))
    batch = collate(held, np.array(picked))
    assert batch.source.shape[1] == 1 + max(lengths[number][0] for number in picked)
    assert batch.given.shape[1] == batch.wanted.shape[1] == 1 + max(lengths[number][1] for number in picked)
    for place, number in enumerate(picked):
        source, target = held.source.row(number).tolist(), held.target.row(number).tolist()
        wanted = {
            "source": [*source, END],
            "given": [BEGIN, *target],
            "wanted": [*target, END],
        }
        for name, ids in wanted.items():
            row = vars(batch)[name][place].tolist()
            assert row == ids + [PAD] * (len(row) - len(ids))
        assert batch.source_lengths[place] == len(source) + 1
        assert batch.lengths[place] == len(target) + 1
    assert batch.targets == sum(lengths[number][1] + 1 for number in picked)
    assert batch.tokens == batch.targets + sum(lengths[number][0] + 1 for number in picked)
    assert batch.positions == batch.source.numel() + batch.given.numel()


def test_texts_to_translate_are_rows_of_a_source() -> None:
    ids, lengths = rows([[5, 6, 7], [], [8]])
    assert ids.tolist() == [[5, 6, 7, END], [END, PAD, PAD, PAD], [8, END, PAD, PAD]]
    assert lengths.tolist() == [4, 1, 2]


MANY = [(1 + n % 7, 1 + n % 5) for n in range(300)]


def test_a_step_however_far_is_found_without_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    walked, jumped = Batches(corpus(MANY), 64, 5), Batches(corpus(MANY), 64, 5)
    for step in range(3 * len(walked)):
        _ = walked[step]
    made: list[object] = []
    generator = np.random.default_rng
    monkeypatch.setattr(module.np.random, "default_rng", lambda seed: made.append(seed) or generator(seed))
    assert same(jumped[10**6], walked[10**6])
    assert made == [(5, 10**6 // len(walked))] * 2
    assert same(jumped[7], walked[7])


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    batches = Batches(corpus(MANY), 64, 5)
    orders = [epoch(batches), epoch(batches, 1), epoch(Batches(corpus(MANY), 64, 6))]
    assert epoch(Batches(corpus(MANY), 64, 5), 1) == orders[1]
    for one, other in ((orders[0], orders[1]), (orders[0], orders[2]), (orders[1], orders[2])):
        assert one != other
        assert {frozenset(batch) for batch in one} != {frozenset(batch) for batch in other}
    longest = [
        max(batch.source.shape[1], batch.given.shape[1]) for batch in map(batches.__getitem__, range(len(batches)))
    ]
    assert longest != sorted(longest)


def test_validation_is_always_in_the_same_order() -> None:
    one, other = (Batches(corpus(MANY), 64, seed).in_order() for seed in (0, 1))
    assert all(same(*both) for both in zip(one, other, strict=True))


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_parts_together_are_the_whole(of: int) -> None:
    batch = Batches(corpus(MANY), 24, 1)[0]
    parts = [batch.part(number, of) for number in range(of)]
    assert sorted(number for part in parts for number in numbers(part)) == sorted(numbers(batch))
    assert sum(part.targets for part in parts) == batch.targets
    assert sum(part.tokens for part in parts) == batch.tokens
    for number, part in enumerate(parts):
        for name, tensor in vars(part).items():
            assert torch.equal(tensor, vars(batch)[name][number::of])
    sizes = [len(part.source) for part in parts]
    assert max(sizes) - min(sizes) <= 1


def test_a_batch_moves_as_a_whole() -> None:
    batch = Batches(corpus(MANY), 64, 1)[0]
    assert {tensor.device.type for tensor in vars(batch.to(torch.device("meta"))).values()} == {"meta"}


def test_at_least_95_of_100_positions_are_real() -> None:
    """Lengths like those of Multi30k in byte pairs: mean 14, spread 5, correlation 0.85."""
    generator = np.random.default_rng(0)
    both = generator.gamma(6, 2, 20_000)
    lengths = [2 + np.rint(both * generator.lognormal(0, 0.15, 20_000)).astype(np.int64) for _ in range(2)]
    assert np.mean(lengths) == pytest.approx(14, abs=0.5)
    assert np.corrcoef(lengths)[0, 1] == pytest.approx(0.86, abs=0.02)
    held = Corpus(*(Rows(np.zeros(sizes.sum(), np.uint16), np.cumsum([0, *sizes])) for sizes in lengths))
    batches = Batches(held, 4096, 1)
    seen = [batches[step] for step in range(len(batches))]
    assert sum(batch.tokens for batch in seen) == sum(sizes.sum() + 20_000 for sizes in lengths)
    assert sum(batch.tokens for batch in seen) >= 0.95 * sum(batch.positions for batch in seen)


def test_neighbours_in_validation_are_alike() -> None:
    widths = [(batch.source.shape[1], batch.given.shape[1]) for batch in Batches(corpus(MANY), 40, 1).in_order()]
    longer = [max(both) for both in widths]
    assert all(one <= other for one, other in pairwise(longer))
