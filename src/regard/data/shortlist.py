"""Which target words a source word may call for, so that decoding need not score all words.

Learnt from the training pairs by the oldest of translation models [Brown et al. 1993, model 1]:
p(t | s) ∝ Σ over pairs of p(t | s) / Σ_s' p(t | s'), again and again.
"""

import numpy as np
from numpy.typing import NDArray

from regard.data.corpus import Corpus, Rows
from regard.data.tokens import LEAST

PRODUCTS = 12_000_000  # word pairs looked at, at most
ROUNDS, EACH, FREQUENT, FAINT = 4, 12, 150, 0.005

Numbers = NDArray[np.int64]


def shortlist(corpus: Corpus, sources: int, targets: int) -> NDArray[np.int32]:
    """For every source word the likeliest target words; the last row holds the most frequent. −1 fills up."""
    pairs = _within(corpus)
    source, target, sentence = _beside(corpus, pairs)
    known, which = np.unique(source * targets + target, return_inverse=True)
    group = np.unique(sentence * targets + target, return_inverse=True)[1]
    chances = _learnt(which, group, known // targets)
    table = np.full((sources + 1, max(EACH, FREQUENT)), -1, np.int32)
    order = np.lexsort((-chances, known // targets))
    asked = (known // targets)[order]
    rank = np.arange(len(order)) - np.searchsorted(asked, asked, "left")
    kept = (rank < EACH) & (chances[order] > FAINT)
    table[asked[kept], rank[kept]] = (known % targets)[order][kept]
    counts = np.bincount(np.asarray(corpus.target.ids[: corpus.target.ends[pairs]]), minlength=targets)
    frequent = np.argsort(-counts, kind="stable")[:FREQUENT]
    table[sources, : len(frequent)] = frequent
    return table


def candidates(table: NDArray[np.int32], rows: list[list[int]]) -> Numbers:
    """All words these sources may call for, in ascending order: with bytes, marks and frequent words."""
    asked = np.unique(np.array([word for row in rows for word in row], np.int64))
    found = np.concatenate([table[asked].ravel(), table[-1], np.arange(LEAST)])
    return np.unique(found[found >= 0]).astype(np.int64)


def _learnt(which: Numbers, group: Numbers, source: Numbers) -> NDArray[np.float64]:
    """p(t | s) for every known pair of words."""
    chances = np.ones(len(source))
    for _ in range(ROUNDS):
        shares = chances[which]
        shares /= np.bincount(group, shares)[group]
        counts = np.bincount(which, shares)
        chances = counts / np.bincount(source, counts)[source]
    return chances


def _within(corpus: Corpus) -> int:
    """How many sentence pairs can be looked at."""
    products = np.cumsum(corpus.source.lengths() * corpus.target.lengths())
    return int(np.searchsorted(products, PRODUCTS, "right"))


def _beside(corpus: Corpus, pairs: int) -> tuple[Numbers, Numbers, Numbers]:
    """Every source word with every target word of its sentence, and the number of the sentence."""
    sources, targets = corpus.source.lengths()[:pairs], corpus.target.lengths()[:pairs]
    sentence = np.repeat(np.arange(pairs), sources)  # of each source word
    times = targets[sentence]
    source = np.repeat(_ids(corpus.source, pairs), times)
    first = np.repeat(corpus.target.ends[sentence] - (np.cumsum(times) - times), times)
    target = _ids(corpus.target, pairs)[first + np.arange(len(first))]
    return source, target, np.repeat(sentence, times)


def _ids(rows: Rows, pairs: int) -> Numbers:
    return np.asarray(rows.ids[: rows.ends[pairs]]).astype(np.int64)
