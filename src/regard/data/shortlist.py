"""Which target words a source word may call for: learnt by counting, so that decoding need not score all words."""

import numpy as np
from numpy.typing import NDArray

from regard.data.corpus import Corpus
from regard.data.tokens import LEAST

PAIRS, FREQUENT, EACH = 200_000, 200, 40


def shortlist(corpus: Corpus, sources: int, targets: int) -> NDArray[np.int32]:
    """For every source word its `EACH` closest target words by Dice's coefficient; row `sources` holds the frequent.

    2 c(s, t) / (c(s) + c(t)), counted by sentences; −1 fills up.
    """
    together = _pairs_of_words(corpus, targets)
    both, counts = np.unique(together, return_counts=True)
    source, target = both // targets, both % targets
    per_source = _sentences(corpus.source.ids, corpus.source.ends, sources)
    per_target = _sentences(corpus.target.ids, corpus.target.ends, targets)
    dice = 2 * counts / (per_source[source] + per_target[target])
    order = np.lexsort((-dice, source))
    rank = np.arange(len(order)) - np.searchsorted(source[order], source[order], "left")
    close = order[rank < EACH]
    table = np.full((sources + 1, max(EACH, FREQUENT)), -1, np.int32)
    table[source[close], rank[rank < EACH]] = target[close]
    frequent = np.argsort(-per_target, kind="stable")[:FREQUENT]
    table[sources, : len(frequent)] = frequent
    return table


def candidates(table: NDArray[np.int32], rows: list[list[int]]) -> NDArray[np.int64]:
    """All words some of these sources may call for, in ascending order: with bytes, marks and frequent words."""
    asked = np.unique(np.concatenate([np.array(row, np.int64) for row in rows] or [np.zeros(0, np.int64)]))
    found = np.concatenate([table[asked].ravel(), table[-1], np.arange(LEAST)])
    return np.unique(found[found >= 0]).astype(np.int64)


def _pairs_of_words(corpus: Corpus, targets: int) -> NDArray[np.int64]:
    """Every pair of a source and a target word that stand in the same sentence pair, each once."""
    found = []
    for number in range(min(len(corpus), PAIRS)):
        source, target = np.unique(corpus.source.row(number)), np.unique(corpus.target.row(number))
        found.append((source.astype(np.int64)[:, None] * targets + target).ravel())
    return np.concatenate(found)


def _sentences(ids: NDArray[np.uint16], ends: NDArray[np.int64], words: int) -> NDArray[np.int64]:
    """In how many sentences each word stands."""
    rows = np.repeat(np.arange(len(ends) - 1), np.diff(ends))[: ends[min(len(ends) - 1, PAIRS)]]
    once = np.unique(rows * np.int64(words) + np.asarray(ids[: len(rows)]))
    return np.bincount(once % words, minlength=words)
