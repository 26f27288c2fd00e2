"""Rows of ids: chosen without copying, and padded all at once."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.utils.rnn import pad_sequence

from regard.datasets.rows import Rows, padded

some = settings(deadline=None, max_examples=100, derandomize=True)
LISTS = st.lists(st.lists(st.integers(0, 60_000), max_size=7), max_size=9)
MAYBE = st.none() | st.integers(0, 9)


@some
@given(lists=LISTS, which=st.data())
def test_rows_are_what_they_were_made_of(lists: list[list[int]], which: st.DataObject) -> None:
    lengths = np.array([len(row) for row in lists], np.int64)
    ids = np.array([token for row in lists for token in row], np.uint16)
    for rows in (Rows.of(lists), Rows(ids, lengths)):
        assert len(rows) == len(lists)
        assert [rows.row(n).tolist() for n in range(len(rows))] == lists
        assert rows.flat().tolist() == ids.tolist()
        assert rows.flat().dtype == np.int64
        numbers = which.draw(st.lists(st.integers(0, len(lists) - 1), max_size=9)) if lists else []
        chosen = rows.chosen(np.array(numbers, np.int64))
        assert [chosen.row(n).tolist() for n in range(len(chosen))] == [lists[n] for n in numbers]
        assert chosen.flat().tolist() == [token for n in numbers for token in lists[n]]
        assert chosen.ids is rows.ids
        even = rows.chosen(lengths % 2 == 0)
        assert [even.row(n).tolist() for n in range(len(even))] == [row for row in lists if len(row) % 2 == 0]


@some
@given(lists=LISTS.filter(len), fill=st.integers(0, 9), first=MAYBE, last=MAYBE)
def test_padding_is_that_of_torch(lists: list[list[int]], fill: int, first: int | None, last: int | None) -> None:
    longer = [[*([first] if first is not None else []), *row, *([last] if last is not None else [])] for row in lists]
    ids, lengths = padded(Rows.of(lists), fill, first, last)
    wanted = pad_sequence([torch.tensor(row, dtype=torch.long) for row in longer], True, fill)
    assert torch.equal(ids, wanted)
    assert lengths.tolist() == [len(row) for row in longer]
    assert ids.dtype == lengths.dtype == torch.long


def test_no_rows_are_no_rows() -> None:
    ids, lengths = padded(Rows.of([]), 0, last=2)
    assert ids.shape[0] == len(lengths) == 0


def test_texts_to_translate_are_rows_of_a_source() -> None:
    ids, lengths = padded(Rows.of([[5, 6, 7], [], [8]]), 0, last=2)
    assert ids.tolist() == [[5, 6, 7, 2], [2, 0, 0, 0], [8, 2, 0, 0]]
    assert lengths.tolist() == [4, 1, 2]
