"""Shortlists: which words a source may call for, learnt from pairs."""

import numpy as np

from regard.data.corpus import Corpus, Rows
from regard.data.shortlist import EACH, FREQUENT, candidates, shortlist
from regard.data.tokens import LEAST

WORDS = 700  # of either side


def corpus(pairs: list[tuple[list[int], list[int]]]) -> Corpus:
    sides = []
    for side in (0, 1):
        rows = [pair[side] for pair in pairs]
        ends = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        sides.append(Rows(np.array([word for row in rows for word in row], np.int64), ends))
    return Corpus(sides[0], sides[1])


def word_for_word(pairs: int, seed: int = 1) -> list[tuple[list[int], list[int]]]:
    """Word s calls for WORDS − 1 − s + LEAST, in any order; a few are much more frequent than the others."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(pairs):
        chosen = LEAST + np.minimum(random.geometric(0.01, 9), WORDS - LEAST - 1)
        called = WORDS - 1 - chosen + LEAST
        random.shuffle(called)
        made.append((chosen.tolist(), called.tolist()))
    return made


def test_every_word_s_own_translation_is_its_likeliest() -> None:
    pairs = word_for_word(3000)
    table = shortlist(corpus(pairs), WORDS, WORDS)
    counts = np.bincount([word for source, _ in pairs for word in source], minlength=WORDS)
    seen = np.flatnonzero(counts > 20)
    assert len(seen) > 200
    assert (table[seen, 0] == WORDS - 1 - seen + LEAST).mean() > 0.98
    assert table.shape == (WORDS + 1, max(EACH, FREQUENT))
    assert (table[:WORDS, EACH:] == -1).all()


def test_the_last_row_holds_the_most_frequent_words() -> None:
    pairs = word_for_word(3000)
    counts = np.bincount([word for _, target in pairs for word in target], minlength=WORDS)
    frequent = shortlist(corpus(pairs), WORDS, WORDS)[-1]
    assert set(frequent.tolist()) <= set(np.flatnonzero(counts >= np.sort(counts)[-FREQUENT]).tolist())


def test_candidates_are_ascending_and_hold_bytes_translations_and_frequent_words() -> None:
    table = shortlist(corpus(word_for_word(3000)), WORDS, WORDS)
    rows = [[LEAST + 1, LEAST + 40], [LEAST + 41]]
    found = candidates(table, rows)
    assert (np.diff(found) > 0).all()
    assert set(range(LEAST)) <= set(found.tolist())
    assert set(table[-1].tolist()) <= set(found.tolist())
    assert {WORDS - 1 - word + LEAST for row in rows for word in row} <= set(found.tolist())
    assert len(found) < LEAST + FREQUENT + 3 * EACH + 1


def test_a_word_never_seen_calls_for_what_is_always_there() -> None:
    table = shortlist(corpus(word_for_word(3000)), WORDS, WORDS)
    unseen = LEAST  # geometric numbers begin with 1
    assert set(candidates(table, [[unseen]]).tolist()) == {*range(LEAST), *table[-1].tolist()}
