"""Which target words a source word may call for, so that decoding need not score all words.

Learnt from the training pairs by the oldest of translation models [Brown et al. 1993, model 1]:
p(t | s) ∝ Σ over pairs of p(t | s) / Σ_s' p(t | s'), again and again.
"""

from collections.abc import Iterable, Iterator, Sequence

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
AT_ONCE = 500_000  # of them that are laid side by side: a few dozen bytes each
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
        known, parts = _pairs(ids, sizes, targets)
        chances = _learnt(parts, known // targets)
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


Numbers32 = NDArray[np.int32]


def _pairs(
    ids: tuple[Numbers, Numbers], sizes: tuple[Numbers, Numbers], targets: int
) -> tuple[Numbers, list[tuple[Numbers32, Numbers32]]]:
    """All pairs of words that stand in a sentence pair together; and in parts, as they stand there: which of them each
    is, and which target word of its sentence it explains, both as numbers."""
    words, parts = list[Numbers](), list[tuple[Numbers32, Numbers32]]()
    for part in _parts(ids, sizes):
        source, target, sentence = _beside(*part)
        found, which = np.unique(source * targets + target, return_inverse=True)
        group = np.unique(sentence * targets + target, return_inverse=True)[1]
        words.append(found)
        parts.append((which.astype(np.int32), group.astype(np.int32)))
    known = np.unique(np.concatenate(words)) if words else np.empty(0, np.int64)
    for number, found in enumerate(words):
        parts[number] = (np.searchsorted(known, found).astype(np.int32)[parts[number][0]], parts[number][1])
    return known, parts


def _learnt(parts: list[tuple[Numbers32, Numbers32]], source: Numbers) -> NDArray[np.float64]:
    """p(t | s) for every known pair of words."""
    chances = np.ones(len(source))
    for _ in range(ROUNDS):
        counts = np.zeros(len(source))
        for which, group in parts:
            shares = chances[which]
            shares /= np.bincount(group, shares)[group]
            np.add.at(counts, which, shares)
        chances = counts / np.bincount(source, counts)[source]
    return chances


def _parts(
    ids: tuple[Numbers, Numbers], sizes: tuple[Numbers, Numbers]
) -> Iterator[tuple[tuple[Numbers, Numbers], tuple[Numbers, Numbers]]]:
    """Whole sentence pairs, as many at a time as can be laid side by side."""
    products = np.cumsum(sizes[0] * sizes[1])
    ends = np.unique(np.searchsorted(products, np.arange(AT_ONCE, (products[-1:].sum() or 1) + AT_ONCE, AT_ONCE)) + 1)
    words = [np.concatenate([[0], np.cumsum(side)]) for side in sizes]
    first = 0
    for end in np.minimum(ends, len(products)):
        if end > first:
            cut = tuple(side[place[first] : place[end]] for side, place in zip(ids, words, strict=True))
            yield (cut[0], cut[1]), (sizes[0][first:end], sizes[1][first:end])
        first = max(first, end)


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
