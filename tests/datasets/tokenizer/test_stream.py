"""A stream is its documents one after another, with what stands between them, however it is asked."""

from pathlib import Path

import numpy as np
import pytest
from foreign import table
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.datasets.data import Report
from regard.datasets.encode import Encoded
from regard.datasets.rows import Rows
from regard.datasets.stream import Marks, Stream, lead
from regard.datasets.tokenizer import Tokenizer

many = settings(deadline=None, max_examples=100, derandomize=True)
DOCUMENTS = st.lists(st.lists(st.lists(st.integers(10, 99), max_size=4), min_size=1, max_size=3), max_size=5)


def stream(documents: list[list[list[int]]], marks: Marks, skipped: int = 0) -> Stream:
    numbers = np.array([number for number, pieces in enumerate(documents) for _ in pieces], np.int64)
    rows = Rows.of([piece for pieces in documents for piece in pieces])
    return Stream(Encoded((rows,), numbers, Report()), marks, skipped)


def written(documents: list[list[list[int]]], marks: Marks, skipped: int = 0) -> tuple[list[int], list[int]]:
    """The same with lists: ids, and which document each belongs to."""
    ids, owners = [marks.begin], [1]
    for number, pieces in enumerate(documents, 1):
        if number > 1:
            ids += list(marks.before)
            owners += [number - 1] * (len(marks.before) - 1) + [number]
        for place, piece in enumerate(pieces):
            kept = piece[skipped:] if place else piece
            ids += kept
            owners += [number] * len(kept)
    return [*ids, marks.end], owners


@many
@given(DOCUMENTS, st.sampled_from([Marks(2, 2), Marks(1, 2)]), st.integers(0, 1), st.sampled_from([1, 2, 3, 256]))
def test_it_is_what_was_put_in(documents: list[list[list[int]]], marks: Marks, skipped: int, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.datasets.stream.EVERY", block)
        patch.setattr("regard.datasets.stream.AT_ONCE", block)
        check(documents, marks, skipped)


def check(documents: list[list[list[int]]], marks: Marks, skipped: int) -> None:
    found = stream(documents, marks, skipped)
    if not documents:
        assert len(found) == 0
        return
    ids, owners = written(documents, marks, skipped)
    places = np.arange(len(ids))
    assert len(found) == len(ids)
    assert found.ids(places).tolist() == ids
    assert found.documents(places[:-1]).tolist() == owners
    assert found.distinct() == {token for pieces in documents for piece in pieces for token in piece}
    grid = np.random.default_rng(1).integers(0, len(ids), (3, 7))
    assert found.ids(grid).tolist() == np.array(ids)[grid].tolist()


@pytest.mark.parametrize(("style", "ids"), [("gpt2", 0), ("llama", 1), ("marian", 1)])
def test_what_a_tokenizer_puts_before_every_text_is_known(style: str, ids: int, tmp_path: Path) -> None:
    tokenizer = Tokenizer.open({"prefix": "", "tokenizer": table(style)})
    assert lead(tokenizer) == ids
    whole, parts = tokenizer.encode(["two men\nare playing", "two men", "\nare playing"])[0], None
    parts = tokenizer.encode(["two men", "\nare playing"])
    assert parts[0] + parts[1][ids:] == whole
