"""Pieces of work side by side give what they give one after another."""

import threading
from collections.abc import Iterator

import pytest
import torch

from regard.tasks.threads import at_once


@pytest.fixture(params=[1, 2, 5])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_all_is_done_in_order_and_threads_are_shared_out(threads: int, count: int) -> None:
    found = at_once(lambda piece: (piece, torch.get_num_threads()), range(count))
    assert [piece for piece, _ in found] == list(range(count))
    assert all(each == threads // max(1, min(threads, count)) for _, each in found)
    assert torch.get_num_threads() == threads


def test_pieces_really_run_side_by_side(threads: int) -> None:
    meet = threading.Barrier(threads, timeout=60)
    assert sorted(at_once(lambda _: meet.wait(), range(threads))) == list(range(threads))


def test_what_goes_wrong_is_told_and_the_threads_come_back(threads: int) -> None:
    with pytest.raises(ZeroDivisionError):
        at_once(lambda piece: 1 // piece, [1, 0, 2])
    assert torch.get_num_threads() == threads
