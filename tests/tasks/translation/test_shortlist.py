"""Shortlists: which words a source may call for, learnt from pairs."""

import tracemalloc

import numpy as np
import pytest
import torch

from regard.datasets.data import Report
from regard.datasets.encode import Encoded
from regard.datasets.rows import Rows
from regard.datasets.tokenizer.trainer import LEAST
from regard.disk.tensors import tensor_bytes
from regard.errors import InputError
from regard.tasks.translation import shortlist
from regard.tasks.translation.shortlist import EACH, FREQUENT, Shortlist

WORDS = 700  # of either side


def corpus(pairs: list[tuple[list[int], list[int]]]) -> Encoded:
    sides = tuple(Rows.of([pair[side] for pair in pairs]) for side in (0, 1))
    return Encoded(sides, np.arange(1, len(pairs) + 1), Report(len(pairs)))


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
    table = Shortlist.learn(corpus(pairs), WORDS, WORDS).table
    counts = np.bincount([word for source, _ in pairs for word in source], minlength=WORDS)
    seen = np.flatnonzero(counts > 20)
    assert len(seen) > 200
    assert (table[seen, 0] == WORDS - 1 - seen + LEAST).mean() > 0.98
    assert table.shape == (WORDS + 1, max(EACH, FREQUENT))
    assert (table[:WORDS, EACH:] == -1).all()


def test_the_last_row_holds_the_most_frequent_words() -> None:
    pairs = word_for_word(3000)
    counts = np.bincount([word for _, target in pairs for word in target], minlength=WORDS)
    frequent = Shortlist.learn(corpus(pairs), WORDS, WORDS).table[-1]
    assert set(frequent.tolist()) <= set(np.flatnonzero(counts >= np.sort(counts)[-FREQUENT]).tolist())


def test_candidates_are_ascending_and_hold_bytes_translations_and_frequent_words() -> None:
    learnt = Shortlist.learn(corpus(word_for_word(3000)), WORDS, WORDS)
    table = learnt.table
    rows = [[LEAST + 1, LEAST + 40], [LEAST + 41]]
    found = learnt.candidates(rows).numpy()
    assert (np.diff(found) > 0).all()
    assert set(range(LEAST)) <= set(found.tolist())
    assert set(table[-1].tolist()) <= set(found.tolist())
    assert {WORDS - 1 - word + LEAST for row in rows for word in row} <= set(found.tolist())
    assert len(found) < LEAST + FREQUENT + 3 * EACH + 1


def test_a_word_never_seen_calls_for_what_is_always_there() -> None:
    learnt = Shortlist.learn(corpus(word_for_word(3000)), WORDS, WORDS)
    unseen = LEAST  # geometric numbers begin with 1
    assert set(learnt.candidates([[unseen]]).tolist()) == {*range(LEAST), *learnt.table[-1].tolist()}


def test_a_shortlist_is_opened_as_it_was() -> None:
    learnt = Shortlist.learn(corpus(word_for_word(300)), WORDS, WORDS, [WORDS - 1])
    opened = Shortlist.open(learnt.file(), WORDS, WORDS, [WORDS - 1])
    assert (opened.table == learnt.table).all()
    assert opened.table.dtype == learnt.table.dtype
    rows = [[LEAST + 1], [LEAST + 5, LEAST + 9]]
    assert torch.equal(opened.candidates(rows), learnt.candidates(rows))
    assert WORDS - 1 in opened.candidates([[LEAST]])


def test_words_beyond_the_vocabulary_are_never_candidates() -> None:
    table = torch.full((WORDS + 1, 2), 10**6, dtype=torch.int32)
    opened = Shortlist.open(tensor_bytes({"words": table}), WORDS, WORDS)
    assert int(opened.candidates([[LEAST]]).max()) < WORDS


@pytest.mark.parametrize(
    "content",
    [
        b"rubbish",
        tensor_bytes({"other": torch.zeros(WORDS + 1, 2, dtype=torch.int32)}),
        tensor_bytes({"words": torch.zeros(WORDS, 2, dtype=torch.int32)}),
        tensor_bytes({"words": torch.zeros(WORDS + 1, dtype=torch.int32)}),
        tensor_bytes({"words": torch.zeros(WORDS + 1, 2)}),
    ],
    ids=["rubbish", "another name", "another vocabulary", "no table", "no numbers"],
)
def test_a_shortlist_of_something_else_is_refused(content: bytes) -> None:
    with pytest.raises(InputError, match=r"^shortlist\.safetensors: not "):
        Shortlist.open(content, WORDS, WORDS)


def test_a_small_vocabulary_is_not_overrun() -> None:
    """Of other makers' tokenizers some have fewer tokens than there are bytes."""
    few = Shortlist(np.full((5, 2), 3, np.int32), 32, [1])
    assert few.candidates([[0, 2]]).tolist() == list(range(32))


@pytest.mark.parametrize("kind", [torch.bool, torch.uint8, torch.int64, torch.float32])
def test_a_shortlist_of_another_type_is_refused(kind: torch.dtype) -> None:
    with pytest.raises(InputError, match="not the shortlist of this vocabulary"):
        Shortlist.open(tensor_bytes({"words": torch.zeros(WORDS + 1, 2, dtype=kind)}), WORDS, WORDS)


def test_pairs_are_looked_at_part_by_part_with_the_same_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine words beside nine: 81 pairs of words a sentence, of which only numbers of four bytes are kept."""
    rows = word_for_word(3000)
    pairs = corpus([*rows[:1500], ([LEAST], [LEAST] * 400), *rows[1500:]])
    whole = Shortlist.learn(pairs, WORDS, WORDS).table
    monkeypatch.setattr(shortlist, "AT_ONCE", 5_000)
    tracemalloc.start()
    parts = Shortlist.learn(pairs, WORDS, WORDS).table
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(whole, parts)
    assert peak < 40 * 81 * 3000


def test_no_pairs_call_for_nothing() -> None:
    assert (Shortlist.learn(corpus([]), WORDS, WORDS).table[:WORDS] == -1).all()
