"""Pieces of work side by side: small products gain little from a second thread, whole pieces gain all of it."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def at_once(work: Callable[[Piece], Result], pieces: Sequence[Piece]) -> list[Result]:
    """All results in their order; torch's threads are shared out among the pieces."""
    threads = torch.get_num_threads()
    workers = min(threads, len(pieces))
    if workers < 2:
        return [work(piece) for piece in pieces]

    def alone(piece: Piece) -> Result:
        torch.set_num_threads(threads // workers)
        return work(piece)

    try:
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(alone, pieces))
    finally:
        torch.set_num_threads(threads)
