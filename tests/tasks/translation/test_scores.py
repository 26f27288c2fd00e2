"""Scores are those of sacrebleu, whole and by length."""

import random
import sys
from math import isnan
from types import ModuleType

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.tasks.translation.scores import ANALYSERS, EDGES, by_length, score, tokenizer_of

few = settings(deadline=None, max_examples=8, derandomize=True)
WORDS = ["a", "dog", "Dog", "runs", "Runs", "over", "the", "green", "meadow", ",", "und", "zwei", "Männer", ".", "한국"]


def texts(lengths: list[int], seed: int) -> list[str]:
    drawn = random.Random(seed)
    return [" ".join(drawn.choices(WORDS, k=length)) for length in lengths]


REFERENCES = texts([4, 9, 14, 6, 30], 1)
SAID = [*REFERENCES[:3], *texts([6, 28], 2)]


def test_scores_are_those_of_sacrebleu() -> None:
    found = score(SAID, REFERENCES)
    assert found.bleu == sacrebleu.corpus_bleu(SAID, [REFERENCES]).score
    assert found.bleu_lowercase == sacrebleu.corpus_bleu(SAID, [REFERENCES], lowercase=True).score
    assert found.chrf == sacrebleu.corpus_chrf(SAID, [REFERENCES]).score
    assert 0 < found.bleu < found.bleu_lowercase < 100


def test_the_same_text_is_perfect_and_nothing_is_nothing() -> None:
    assert score(REFERENCES, REFERENCES).bleu == pytest.approx(100)
    assert score(REFERENCES, REFERENCES).chrf == pytest.approx(100)
    assert (score([""] * 5, REFERENCES).bleu, score([""] * 5, REFERENCES).chrf) == (0, 0)


def test_translations_and_references_are_not_interchangeable() -> None:
    assert score(["a dog runs over the"], ["a dog runs over the green meadow"]).bleu < 100
    assert score(SAID[::-1], REFERENCES).bleu != score(SAID, REFERENCES).bleu


def test_signatures_say_how_it_was_done() -> None:
    signatures = score(SAID, REFERENCES).signatures
    assert set(signatures) == {"bleu", "chrf", "bleu_lowercase"}
    assert all(f"version:{sacrebleu.__version__}" in signature for signature in signatures.values())
    assert "case:mixed" in signatures["bleu"]
    assert "case:lc" in signatures["bleu_lowercase"]
    assert "nc:6" in signatures["chrf"]


BOUNDS = EDGES["words"]


@few
@given(
    st.lists(st.integers(1, 60) | st.sampled_from([*BOUNDS, *(edge + 1 for edge in BOUNDS)]), max_size=20).map(
        lambda some: [*some, 9, 9]
    )
)
def test_bins_part_the_sentences_by_their_length(lengths: list[int]) -> None:
    """Every sentence in one bin, and the score of a bin that of its sentences."""
    sources, references = texts(lengths, 1), texts(lengths, 2)
    said = [one if place % 2 else other for place, (one, other) in enumerate(zip(sources, references, strict=True))]
    bins = by_length(sources, said, references)
    assert sum(part.count for part in bins) == len(lengths)
    ranges = [length for part in bins for length in range(part.least, part.most + 1)]
    assert ranges == sorted(set(ranges))
    assert set(lengths) <= set(ranges)
    for part in bins:
        inside = [place for place, length in enumerate(lengths) if part.least <= length <= part.most]
        found = score([said[place] for place in inside], [references[place] for place in inside])
        short = 2 * sum(lengths[place] >= 4 for place in inside) < len(inside)
        assert (part.count, part.chrf) == (len(inside), found.chrf)
        assert isnan(part.bleu) if short else part.bleu == found.bleu


def test_sources_of_a_word_or_two_are_counted_in_letters() -> None:
    """German numbers are one word each, however long: by words all would stand in one bin."""
    numbers = ["zwei", "siebenundvierzig", "neunhundertneunundneunzig", "dreitausendsiebenhundertelf"] * 10
    bins = by_length(numbers, numbers, numbers)
    assert [(part.unit, part.least, part.most, part.count) for part in bins] == [
        ("letters", 1, 10, 10),
        ("letters", 11, 20, 10),
        ("letters", 21, 30, 20),
    ]
    assert {
        part.unit for part in by_length([*numbers, *["ein Satz aus mehr als fünf Wörtern"] * 3], *[["x"] * 43] * 2)
    } == {"words"}


def test_the_edges_of_bins_are_those_written() -> None:
    lengths = [1, 5, 6, 40, 41, 300]
    bins = by_length(texts(lengths, 1), texts(lengths, 2), texts(lengths, 3))
    assert [(part.least, part.most, part.count) for part in bins] == [(1, 5, 2), (6, 10, 1), (31, 40, 1), (41, 300, 2)]


def test_right_answers_that_are_too_short_for_bleu_are_not_0() -> None:
    """Corpus BLEU of four n-gram orders is 0 where no answer has four tokens, however right."""
    sources = ["drei", "neun", "achtundneunzigtausend"]
    right = ["three", "nine", "ninety - eight thousand"]
    assert score(right[:2], right[:2]).bleu == 0
    short, long = by_length(sources * 30, right * 30, right * 30)
    assert isnan(short.bleu)
    assert (short.chrf, long.bleu, long.chrf) == pytest.approx((100, 100, 100))


CHINESE = ["一只狗在草地上跑。", "两个人在看狗。", "她在读一本书。"]
JAPANESE = ["犬が草原を走っている。", "二人の男が犬を見ている。", "彼女は本を読んでいる。"]


def test_chinese_is_cut_between_its_characters_and_the_signature_says_so() -> None:
    """Cut at spaces, as other languages are, a sentence would be one word: right or wrong as a whole."""
    said = [CHINESE[0].replace("草", "绿"), *CHINESE[1:]]
    found = score(said, CHINESE, "zh")
    assert found.bleu == sacrebleu.corpus_bleu(said, [CHINESE], tokenize="zh").score
    assert found.bleu != score(said, CHINESE).bleu
    for name in ("bleu", "bleu_lowercase"):
        assert "tok:zh" in found.signatures[name]
        assert "tok:13a" in score(said, CHINESE, "en").signatures[name]
    (part,) = by_length(CHINESE, said, CHINESE, "zh")
    assert part.bleu == found.bleu


@pytest.mark.parametrize("language", ["zh", "ZH", "zh-TW", "zh_CN"])
def test_a_language_may_be_said_with_its_country(language: str) -> None:
    assert tokenizer_of(language) == "zh"


@pytest.mark.parametrize("language", ["", "en", "de", "reverse", "zhuang", "target"])
def test_all_other_languages_are_cut_as_papers_do(language: str) -> None:
    assert tokenizer_of(language) == "13a"


@pytest.mark.parametrize(("language", "name"), [("ja", "ja-mecab"), ("ko", "ko-mecab")])
def test_an_analyser_is_used_where_it_is_installed(language: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else characters: a score that is worse known, but of the words' own language."""
    module = ANALYSERS[language][1]
    monkeypatch.setitem(sys.modules, module, None)
    assert tokenizer_of(language) == "char"
    there = ModuleType(module)
    there.__spec__ = pytest.__spec__
    monkeypatch.setitem(sys.modules, module, there)
    assert tokenizer_of(language) == name


def test_japanese_without_an_analyser_is_scored_by_characters_and_the_signature_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for _, module in ANALYSERS.values():
        monkeypatch.setitem(sys.modules, module, None)
    said = [JAPANESE[0].replace("犬", "猫"), *JAPANESE[1:]]
    found = score(said, JAPANESE, "ja")
    assert found.bleu == sacrebleu.corpus_bleu(said, [JAPANESE], tokenize="char").score
    assert "tok:char" in found.signatures["bleu"]
    assert 50 < found.bleu < 100
