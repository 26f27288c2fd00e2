"""Texts of any number and any length are translated, each as if it were alone."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny import STACKS, seq2seq

from regard.data.corpus import Vocabulary
from regard.data.tokens import END, LEAST, Bpe, Characters, Words
from regard.decoding.beam import Beam
from regard.decoding.sample import Greedy, Sample
from regard.decoding.search import Hypothesis, Search
from regard.tasks.translator import LEAST as FEW
from regard.tasks.translator import Scribe, Translated, Translator, share

WORDS = ["ein", "Hund", "läuft", "über", "die", "Wiese", "zwei", "Männer", "한국", "und"]
TEXTS = [
    *("ein Hund läuft", "", "und", "zwei Männer. die Wiese!", "   ", "ein Hund läuft", "über die\nWiese", "\n\t"),
    *("ein " * 8, "한국", "neu 😀", "a. b! c? d… e.", " Hund "),
]
LONGEST = 6


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    tokens = Words().learn([" ".join(WORDS), "a. b! c? d…"])
    return Vocabulary(tokens, tokens)


@pytest.fixture(scope="module", params=STACKS)
def translator(request: pytest.FixtureRequest, vocabulary: Vocabulary) -> Translator:
    return Translator(seq2seq(request.param, len(vocabulary.target), ends=3.0), vocabulary, LONGEST)


def batched(translator: Translator, batch: int) -> Translator:
    return Translator(translator.model, translator.vocabulary, translator.longest, batch)


def equal(one: list[Translated], other: list[Translated]) -> bool:
    """The same texts; scores but for rounding."""
    scores = [found.scores for found in other]
    assert [found.scores for found in one] == [pytest.approx(some, abs=1e-5) for some in scores]
    return [(found.source, found.texts) for found in one] == [(found.source, found.texts) for found in other]


@pytest.mark.parametrize("search", [Greedy(), Beam(size=3, best=3), Sample(seed=3)], ids=["greedy", "beam", "sample"])
def test_the_batch_does_not_matter(translator: Translator, search: Search) -> None:
    wanted = translator.translate(TEXTS, search)
    assert [found.source for found in wanted] == TEXTS
    assert len({found.text for found in wanted}) > 5
    for batch in (1, 3):
        assert equal(batched(translator, batch).translate(TEXTS, search), wanted)


def shortlisted(translator: Translator, words: list[int]) -> Translator:
    """Every source word may call for these."""
    table = np.full((len(translator.vocabulary.source) + 1, len(words)), words, np.int32)
    return replace(translator, words=table)


def test_a_shortlist_of_all_words_changes_nothing(translator: Translator) -> None:
    every = shortlisted(translator, list(range(len(translator.vocabulary.target))))
    for search in (Greedy(), Beam(size=3, best=3, no_repeat=2)):
        assert equal(every.translate(TEXTS, search), translator.translate(TEXTS, search))


def test_with_a_shortlist_no_other_word_is_written(translator: Translator) -> None:
    target = translator.vocabulary.target
    usual = {word for found in translator.translate(TEXTS, Greedy()) for word in target.encode([found.text])[0]}
    some = sorted(usual - set(range(LEAST)))[::2]
    written = shortlisted(translator, some).translate(TEXTS, Beam(size=3))
    words = {word for found in written for word in target.encode([found.text])[0]}
    assert words <= {*range(LEAST), *some}
    assert words & set(some)
    assert not usual <= words


@pytest.mark.parametrize(
    ("sentences", "most", "threads", "size"),
    [(1000, 64, 2, 63), (1000, 320, 2, 250), (1000, 320, 1, 250), (3, 64, 4, FEW), (20, 64, 2, 10), (9, 4, 2, 4)],
)
def test_threads_get_as_much_as_each_other(sentences: int, most: int, threads: int, size: int) -> None:
    assert share(sentences, most, threads) == size


def test_threads_do_not_matter(translator: Translator) -> None:
    texts, before = [*TEXTS, *TEXTS[::-1]], torch.get_num_threads()
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(translator.translate(texts, Beam(size=3)))
    torch.set_num_threads(before)
    assert equal(found[1], found[0])
    assert equal(found[2], found[0])


def test_empty_lines_stay_empty_and_in_their_place(translator: Translator) -> None:
    found = translator.translate(TEXTS, Greedy())
    for text, translated in zip(TEXTS, found, strict=True):
        if not text.strip():
            assert translated == Translated(text, [""], [0.0])
    assert equal(found[:1], found[5:6])  # threads may have put them into different batches
    one, same = translator.translate(TEXTS[:1] * 2, Greedy())
    assert one == same
    assert translator.translate(["", " \n "], Beam(size=2)) == [
        Translated("", [""], [0.0]),
        Translated(" \n ", [""], [0.0]),
    ]
    assert translator.translate([], Greedy()) == []


def test_a_long_text_is_its_sentences(translator: Translator) -> None:
    sentences = ["ein Hund läuft.", "zwei Männer!", "über die Wiese?", "und…", "한국。"]
    found, *alone = translator.translate([" ".join(sentences), *sentences], Greedy())
    assert found.text == " ".join(one.text for one in alone)
    assert found.scores == [pytest.approx(sum(one.scores[0] for one in alone) / len(alone))]
    run_on = translator.translate(["한국。한국。 ein Hund läuft über die"], Greedy())[0]
    assert run_on.text == " ".join(
        one.text for one in translator.translate(["한국。", "한국。", "ein Hund läuft über die"], Greedy())
    )


def test_n_best_are_the_best_first(translator: Translator) -> None:
    for found in translator.translate([text for text in TEXTS if text.strip()], Beam(size=4, best=3)):
        assert len(found.texts) == len(found.scores) == 3
        assert found.scores == sorted(found.scores, reverse=True)
        assert found.text == found.texts[0]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[int]]]:
    """The rows of ids that a translator is about to translate; each becomes itself."""
    rows: list[list[int]] = []

    def write(self: Scribe, sources: list[list[int]], search: Search) -> list[list[Hypothesis]]:
        rows.extend(sources)
        return [[Hypothesis(row, 0.0, 0.0)] for row in sources]

    monkeypatch.setattr(Scribe, "write", write)
    return rows


@pytest.fixture(params=[Bpe, Words, Characters])
def repeater(request: pytest.FixtureRequest) -> Translator:
    """Its model is never asked."""
    tokens = request.param().learn([" ".join(WORDS)] * 2)
    return Translator(seq2seq("recurrent", len(tokens)), Vocabulary(tokens, tokens), 24)


def test_long_sentences_are_cut_between_words(repeater: Translator, seen: list[list[int]]) -> None:
    text = " ".join(WORDS * 5)
    (found,) = repeater.translate([text], Greedy())
    assert found.text == text
    assert len(seen) > 2
    assert max(map(len, seen)) <= 24
    pieces = repeater.vocabulary.source.decode(seen)
    assert {word for piece in pieces for word in piece.split()} == {*WORDS}
    assert all(
        len(one) + len(repeater.vocabulary.source.encode([piece.split()[0]])[0]) > 24
        for one, piece in zip(seen, pieces[1:], strict=False)
    )


@pytest.mark.parametrize("word", ["x" * 500, "한" * 200, "😀" * 99, "Hund" + "y" * 300], ids=lambda word: word[:5])
def test_an_endless_word_is_cut_and_none_of_it_is_lost(word: str, repeater: Translator, seen: list[list[int]]) -> None:
    repeater.translate([f"ein {word} und. die Wiese!"], Greedy())
    assert max(map(len, seen)) <= 24
    spelt = repeater.vocabulary.source.decode([[token for row in seen for token in row]])
    assert spelt == [f"ein {word} und. die Wiese!"]


def test_a_text_that_fits_is_left_whole(repeater: Translator, seen: list[list[int]]) -> None:
    repeater.translate(["ein.  Hund!\nund "], Greedy())
    assert seen == repeater.vocabulary.source.encode(["ein.  Hund!\nund "])


def test_an_endless_word_is_translated(translator: Translator) -> None:
    (found,) = translator.translate(["x" * 50], Greedy())
    assert found.source == "x" * 50
    assert len(found.texts) == 1


def test_what_is_written_ends(vocabulary: Vocabulary) -> None:
    """A model that never says <end> is stopped, later for longer sources."""
    endless = Scribe(seq2seq("recurrent", len(vocabulary.target), ends=-99.0))
    sources = [[5] * length for length in (1, 4, 6)]
    for source, (best,) in zip(sources, endless.write(sources, Greedy()), strict=True):
        assert len(best.tokens) == 2 * (len(source) + 1) + 10
        assert END not in best.tokens
