"""Keeping memory between steps, laying it in large pages, and how much there is."""

import ctypes
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # from glibc's malloc.h
MADV_COLLAPSE = 25  # from Linux's mman.h, since 6.1
LARGE = 2**21  # bytes of a large page
SEVERAL = 8 * LARGE  # are moved at a time
ALLOWED = Path("/sys/fs/cgroup/memory.max")  # what a container may take


def keep_memory() -> None:
    """Let the C library keep freed memory for the next step.

    By default glibc gives every block over 32 MiB back at once and faults it in anew, page by page,
    at the next step: causal linear attention over 16,384 tokens takes twice as long that way.
    For programs that do the same thing again and again; without glibc it does nothing.
    """
    if sys.platform != "linux":
        return
    try:
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(M_MMAP_MAX, 0)
        libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    except (OSError, AttributeError):
        return


def use_large_pages(places: Iterable[tuple[int, int]], wanted: Callable[[], bool] = lambda: True) -> None:
    """Let memory that is read again and again, addresses and sizes, lie in pages of 2 MiB.

    A processor foresees what is read next only as far as a page reaches, and in a virtual machine every new page costs
    a long look into tables: weights are read at 55 GB/s then instead of 35 (two cores of an AMD EPYC). What lies
    between two places comes along. Where Linux is older than 6.1 or has no such pages nothing happens. It ends where
    nobody wants it any more: meanwhile no memory can be given back.
    """
    if sys.platform != "linux":
        return
    try:
        advise = ctypes.CDLL("libc.so.6").madvise
    except (OSError, AttributeError):
        return
    for first, stop in _ranges(places):
        for place in range(first, stop, SEVERAL):
            if not wanted():
                return
            advise(ctypes.c_void_p(place), ctypes.c_size_t(min(SEVERAL, stop - place)), MADV_COLLAPSE)


def _ranges(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Whole large pages that hold all places; those that touch are one."""
    found: list[tuple[int, int]] = []
    for address, size in sorted(places):
        first, stop = address // LARGE * LARGE, -(-(address + size) // LARGE) * LARGE
        if found and first <= found[-1][1]:
            first, stop = found[-1][0], max(stop, found.pop()[1])
        found.append((first, stop))
    return found


def memory_here() -> int:
    """Bytes of memory that this machine has, or that this container may take."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # "max": as much as there is
        there = min(there, int(ALLOWED.read_text()))
    return there
