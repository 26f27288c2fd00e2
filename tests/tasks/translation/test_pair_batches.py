"""Batches of pairs: shifted by one, padded, divided among processes without loss."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.datasets.data import Report
from regard.datasets.encode import Encoded
from regard.datasets.rows import Rows
from regard.datasets.tokenizer import Characters, Tokenizer
from regard.datasets.tokenizer.trainer import BOS, EOS, PAD
from regard.tasks.translation.batches import PairBatch, PairBatches
from regard.tasks.translation.tokenizers import TokenizerPair

some = settings(deadline=None, max_examples=40, derandomize=True)
FIRST = 3
TOKENIZER = Characters().train(["a"])
PAIR = TokenizerPair(TOKENIZER, TOKENIZER)
MANY = [(1 + n % 7, 1 + n % 5) for n in range(300)]
LENGTHS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=40)


def corpus(lengths: list[tuple[int, int]]) -> Encoded:
    """Row i holds its own number, then counts on: no two rows are alike."""
    sides = tuple(
        Rows.of([[FIRST + n + 1000 * place for place in range(both[side])] for n, both in enumerate(lengths)])
        for side in (0, 1)
    )
    return Encoded(sides, np.arange(1, len(lengths) + 1), Report(len(lengths)))


def batches(lengths: list[tuple[int, int]], tokens: int = 64, seed: int = 1) -> PairBatches:
    return PairBatches(corpus(lengths), PAIR.ids, tokens, seed)


def numbers(batch: PairBatch) -> list[int]:
    """Which pairs are in a batch."""
    return (batch.source[:, 0] - FIRST).tolist()


@some
@given(lengths=LENGTHS, chosen=st.data())
def test_rows_are_shifted_by_one_and_padded(lengths: list[tuple[int, int]], chosen: st.DataObject) -> None:
    made = batches(lengths)
    picked = chosen.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=5))
    batch = made.collate(np.array(picked))
    assert batch.source.shape[1] == 1 + max(lengths[number][0] for number in picked)
    assert batch.inputs.shape[1] == batch.labels.shape[1] == 1 + max(lengths[number][1] for number in picked)
    for place, number in enumerate(picked):
        source, target = (side.row(number).tolist() for side in made.corpus.sides)
        wanted = {"source": [*source, EOS], "inputs": [BOS, *target], "labels": [*target, EOS]}
        for name, ids in wanted.items():
            row = vars(batch)[name][place].tolist()
            assert row == ids + [PAD] * (len(row) - len(ids))
        assert batch.source_lengths[place] == len(source) + 1
        assert batch.lengths[place] == len(target) + 1
    assert batch.predictions == sum(lengths[number][1] + 1 for number in picked)
    assert batch.size == batch.predictions + sum(lengths[number][0] + 1 for number in picked)


def test_a_tokenizer_without_a_beginning_begins_with_its_end() -> None:
    """As Marian's do; and where nothing fills up, 0 does."""
    bare = Tokenizer(TOKENIZER.engine, None, None, 7)
    made = PairBatches(corpus([(1, 2), (1, 1)]), TokenizerPair(bare, bare).ids, 64, 1).collate(np.array([0, 1]))
    assert made.inputs.tolist() == [[7, FIRST, FIRST + 1000], [7, FIRST + 1, 0]]
    assert made.labels.tolist() == [[FIRST, FIRST + 1000, 7], [FIRST + 1, 7, 0]]
    assert made.source.tolist() == [[FIRST, 7], [FIRST + 1, 7]]


def test_an_epoch_has_every_pair_once_and_validation_too() -> None:
    made = batches(MANY)
    for found in ([made[step] for step in range(len(made))], made.in_order()):
        assert sorted(number for batch in found for number in numbers(batch)) == list(range(300))
        for batch in found:
            assert max(batch.source.numel(), batch.inputs.numel()) <= 64
    assert numbers(made[5 * len(made) + 3]) == numbers(batches(MANY)[5 * len(made) + 3])
    assert [numbers(made[step]) for step in range(5)] != [numbers(batches(MANY, seed=2)[step]) for step in range(5)]


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_parts_together_are_the_whole(of: int) -> None:
    batch = batches(MANY, 24)[0]
    parts = [batch.part(number, of) for number in range(of)]
    assert sorted(number for part in parts for number in numbers(part)) == sorted(numbers(batch))
    assert sum(part.predictions for part in parts) == batch.predictions
    assert sum(part.size for part in parts) == batch.size
    for number, part in enumerate(parts):
        for name, tensor in vars(part).items():
            assert torch.equal(tensor, vars(batch)[name][number::of])
    sizes = [len(part.source) for part in parts]
    assert max(sizes) - min(sizes) <= 1


def test_a_batch_moves_as_a_whole() -> None:
    moved = batches(MANY)[0].to(torch.device("meta"))
    assert {tensor.device.type for tensor in vars(moved).values()} == {"meta"}
