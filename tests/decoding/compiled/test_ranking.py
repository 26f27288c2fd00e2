"""The likeliest words of a row: compiled, by torch, and by sorting."""

import math
from collections.abc import Iterator

import pytest
import torch
from contracts.small import some
from hypothesis import given
from hypothesis import strategies as st

from regard.decoding.compiled import ranking
from regard.decoding.compiled.machine_code import Code
from regard.decoding.top import likeliest, log_chances, top


class Given:
    """Machine code that is there."""

    def __init__(self, code: Code) -> None:
        self.get = lambda: code


@pytest.fixture(scope="module", autouse=True)
def _there(code: Code) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "MACHINE_CODE", Given(code))
        yield


@some
@given(rows=st.integers(1, 40), words=st.sampled_from([1, 2, 5, 63, 64, 65, 130, 701]), data=st.data())
def test_as_by_sorting(rows: int, words: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, min(words, 70)))
    logits = torch.randn(rows, words, generator=torch.Generator().manual_seed(rows * words)) * 5
    found = ranking.ranked(logits, count)
    assert (found is None) == (count > ranking.MOST)
    wanted = logits.log_softmax(-1).sort(descending=True)
    for log_probs, columns in filter(None, (found, top(logits.log_softmax(-1), count))):
        torch.testing.assert_close(log_probs, wanted.values[:, :count], rtol=1e-5, atol=1e-5)
        assert torch.equal(columns, wanted.indices[:, :count])


def test_what_is_forbidden_comes_last_and_has_no_chance() -> None:
    logits = torch.full((1, 300), -math.inf)
    logits[0, 130], logits[0, 7] = 2.0, 1.0
    log_probs, columns = likeliest(logits, 4)
    assert columns[0, :2].tolist() == [130, 7]
    assert log_probs[0].exp().tolist() == pytest.approx([0.7311, 0.2689, 0, 0], abs=1e-4)


@pytest.mark.parametrize("wrong", [math.nan, -math.inf])
def test_no_numbers_are_no_chances(wrong: float) -> None:
    """So that a search can say that the weights are damaged, or that everything is forbidden."""
    assert likeliest(torch.full((2, 100), wrong), 3)[0].isnan().all()
    logits = torch.zeros(2, 100)
    logits[1, 63] = math.nan
    assert likeliest(logits, 1)[0].isnan().tolist() == [[False], [True]]


def test_the_first_of_equal_ones_comes_first() -> None:
    assert likeliest(torch.zeros(1, 200), 3)[1].tolist() == [[0, 1, 2]]


def test_what_is_not_plain_is_torchs() -> None:
    assert ranking.ranked(torch.zeros(2, 8, dtype=torch.float64), 1) is None
    assert ranking.ranked(torch.zeros(8, 2).T, 1) is None
    assert ranking.ranked(torch.zeros(0, 8), 1) is None
    with torch.inference_mode():
        assert ranking.ranked(torch.zeros(2, 8), 1) is not None


def test_log_chances_of_any_words() -> None:
    logits = torch.randn(9, 300) * 4
    columns = torch.arange(9) * 31
    wanted = logits.log_softmax(-1)[torch.arange(9), columns]
    torch.testing.assert_close(log_chances(logits, columns), wanted, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(log_chances(logits.double(), columns), wanted.double(), rtol=1e-5, atol=1e-5)
