"""Which target words a source word may call for, so that decoding need not score all words.

Learnt from the training pairs by the oldest of translation models [Brown et al. 1993, model 1]:
p(t | s) ∝ Σ over pairs of p(t | s) / Σ_s' p(t | s'), again and again.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from regard.datasets.encode import Encoded
from regard.datasets.rows import Numbers, Rows
from regard.datasets.tokenizer.trainer import LEAST
from regard.disk.tensors import parse_tensors, tensor_bytes
from regard.errors import InputError

FILE = "shortlist.safetensors"

PRODUCTS = 12_000_000  # word pairs looked at, at most
ROUNDS, EACH, FREQUENT, FAINT = 4, 12, 150, 0.005


class Shortlist:
    """For every source word the likeliest target words; the last row holds the most frequent. −1 fills up."""

    def __init__(self, table: NDArray[np.int32], targets: int, always: Iterable[int] = ()) -> None:
        self.table = table
        self._always = np.unique(np.array([*always, *range(min(LEAST, targets))], np.int64))  # special ones, bytes

    @classmethod
    def learn(cls, corpus: Encoded, sources: int, targets: int, always: Iterable[int] = ()) -> "Shortlist":
        """From the training pairs, given the sizes of both vocabularies."""
        ids, sizes = _sides(corpus)
        source, target, sentence = _beside(ids, sizes)
        known, which = np.unique(source * targets + target, return_inverse=True)
        group = np.unique(sentence * targets + target, return_inverse=True)[1]
        chances = _learnt(which, group, known // targets)
        table = np.full((sources + 1, max(EACH, FREQUENT)), -1, np.int32)
        order = np.lexsort((-chances, known // targets))
        asked = (known // targets)[order]
        rank = np.arange(len(order)) - np.searchsorted(asked, asked, "left")
        kept = (rank < EACH) & (chances[order] > FAINT)
        table[asked[kept], rank[kept]] = (known % targets)[order][kept]
        frequent = np.argsort(-np.bincount(ids[1], minlength=targets), kind="stable")[:FREQUENT]
        table[sources, : len(frequent)] = frequent
        return cls(table, targets, always)

    @classmethod
    def open(cls, content: bytes, sources: int, targets: int, always: Iterable[int] = ()) -> "Shortlist":
        """From the file of a run, held against the sizes of both vocabularies."""
        words = parse_tensors(content, FILE).get("words")
        if words is None or words.ndim != 2 or len(words) != sources + 1 or words.dtype != torch.int32:
            raise InputError(f"{FILE}: not the shortlist of this vocabulary")
        return cls(words.clamp(-1, targets - 1).numpy(), targets, always)

    def file(self) -> bytes:
        """What `open` reads."""
        return tensor_bytes({"words": torch.from_numpy(self.table)})

    def candidates(self, sources: Iterable[Sequence[int]]) -> Int[Tensor, "C"]:
        """All words these sources may call for, in ascending order."""
        asked = np.unique(np.array([word for row in sources for word in row], np.int64))
        found = np.concatenate([self.table[asked].ravel(), self.table[-1], self._always])
        return torch.from_numpy(np.unique(found[found >= 0]).astype(np.int64))


def _learnt(which: Numbers, group: Numbers, source: Numbers) -> NDArray[np.float64]:
    """p(t | s) for every known pair of words."""
    chances = np.ones(len(source))
    for _ in range(ROUNDS):
        shares = chances[which]
        shares /= np.bincount(group, shares)[group]
        counts = np.bincount(which, shares)
        chances = counts / np.bincount(source, counts)[source]
    return chances


def _sides(corpus: Encoded) -> tuple[tuple[Numbers, Numbers], tuple[Numbers, Numbers]]:
    """The ids and the lengths of both sides, of as many sentence pairs as can be looked at."""
    source, target = corpus.sides
    products = np.cumsum(source.lengths * target.lengths)
    pairs = np.arange(np.searchsorted(products, PRODUCTS, "right"))
    chosen: tuple[Rows, Rows] = (source.chosen(pairs), target.chosen(pairs))
    return (chosen[0].flat(), chosen[1].flat()), (chosen[0].lengths, chosen[1].lengths)


def _beside(ids: tuple[Numbers, Numbers], sizes: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers, Numbers]:
    """Every source word with every target word of its sentence, and the number of the sentence."""
    sources, targets = sizes
    sentence = np.repeat(np.arange(len(sources)), sources)  # of each source word
    times = targets[sentence]
    starts = np.cumsum(targets) - targets
    first = np.repeat(starts[sentence] - (np.cumsum(times) - times), times)
    target = ids[1][first + np.arange(len(first))]
    return np.repeat(ids[0], times), target, np.repeat(sentence, times)
