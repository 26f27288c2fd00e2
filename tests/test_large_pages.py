"""Memory in large pages: what lies there stays what it is."""

import ctypes
import mmap
import sys
from pathlib import Path

import pytest
import torch

from regard.allocator import LARGE, MADV_COLLAPSE, SEVERAL, _ranges, use_large_pages


def test_places_that_touch_are_one_range_of_whole_pages() -> None:
    assert _ranges([]) == []
    assert _ranges([(5 * LARGE + 7, 1)]) == [(5 * LARGE, 6 * LARGE)]
    assert _ranges([(9 * LARGE, LARGE), (5 * LARGE, 3), (5 * LARGE + 100, 2 * LARGE)]) == [
        (5 * LARGE, 8 * LARGE),
        (9 * LARGE, 10 * LARGE),
    ]


def huge() -> int:
    """KiB of this process's memory that lie in large pages."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages"))


def collapses() -> bool:
    """Whether the kernel can do it at all."""
    try:
        held = mmap.mmap(-1, 2 * LARGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        held[:] = bytes(2 * LARGE)
        first = -(-ctypes.addressof(ctypes.c_char.from_buffer(held)) // LARGE) * LARGE
        return ctypes.CDLL("libc.so.6").madvise(ctypes.c_void_p(first), ctypes.c_size_t(LARGE), MADV_COLLAPSE) == 0
    except (OSError, AttributeError, ValueError):
        return False


@pytest.mark.skipif(sys.platform != "linux" or not collapses(), reason="no large pages here")
def test_numbers_move_into_large_pages_and_stay_what_they_are() -> None:
    tensors = [torch.arange(n, dtype=torch.float32) for n in (3 * LARGE, 5, LARGE)]
    places, before = [tensor.data_ptr() for tensor in tensors], huge()
    use_large_pages((tensor.data_ptr(), tensor.nbytes) for tensor in tensors)
    assert huge() - before >= 10 * 2048  # of 12 MiB and 4, all but the ends
    assert places == [tensor.data_ptr() for tensor in tensors]
    assert all(torch.equal(tensor, torch.arange(len(tensor), dtype=torch.float32)) for tensor in tensors)


def test_addresses_that_nobody_has_do_no_harm() -> None:
    use_large_pages([(0, 1), (LARGE * 2**20, LARGE)])


def test_what_nobody_wants_any_more_is_not_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[int] = []

    class Library:
        def __init__(self, name: str) -> None:
            self.madvise = lambda place, size, advice: moved.append(size.value)

    monkeypatch.setattr(ctypes, "CDLL", Library)
    use_large_pages([(0, 2 * SEVERAL + LARGE)])
    assert moved == [SEVERAL, SEVERAL, LARGE]
    use_large_pages([(0, 3 * SEVERAL)], lambda: len(moved) < 5)
    assert moved[3:] == [SEVERAL, SEVERAL]
