"""Texts of any number and any length are translated, each as if it were alone."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny import STACKS, seq2seq

from regard.datasets.tokenizer import Bpe, Characters, Words
from regard.datasets.tokenizer.trainer import BOS, EOS, LEAST, PAD
from regard.decoding.beam import Beam
from regard.decoding.engine import Engine
from regard.decoding.request import Finished, Hypothesis, Request
from regard.decoding.sample import Greedy, Sample
from regard.decoding.search import Search
from regard.errors import FailedError
from regard.model.build import build
from regard.tasks.translation import Translated, Translator
from regard.tasks.translation.pieces import Piece
from regard.tasks.translation.shortlist import Shortlist
from regard.tasks.translation.tokenizers import TokenizerPair

WORDS = ["ein", "Hund", "läuft", "über", "die", "Wiese", "zwei", "Männer", "한국", "und"]
TEXTS = [
    *("ein Hund läuft", "", "und", "zwei Männer. die Wiese!", "   ", "ein Hund läuft", "über die\nWiese", "\n\t"),
    *("ein " * 8, "한국", "neu 😀", "a. b! c? d… e.", " Hund "),
]
LONGEST = 6


@pytest.fixture(scope="module")
def tokenizers() -> TokenizerPair:
    both = Words().train([" ".join(WORDS), "a. b! c? d…"])
    return TokenizerPair(both, both)


@pytest.fixture(scope="module", params=STACKS)
def translator(request: pytest.FixtureRequest, tokenizers: TokenizerPair) -> Translator:
    model = seq2seq(request.param, len(tokenizers.target), ends=3.0)
    return Translator(model, tokenizers, LONGEST, Greedy())


def searching(translator: Translator, search: Search) -> Translator:
    return replace(translator, search=search)


def equal(one: list[Translated], other: list[Translated]) -> bool:
    """The same texts; scores but for rounding."""
    scores = [found.scores for found in other]
    assert [found.scores for found in one] == [pytest.approx(some, abs=1e-5) for some in scores]
    return [(found.source, found.texts) for found in one] == [(found.source, found.texts) for found in other]


@pytest.mark.parametrize(
    "search", [Greedy(), Beam(beam_size=3, n_best=3), Sample(seed=3)], ids=["greedy", "beam", "sample"]
)
def test_the_batch_does_not_matter(translator: Translator, search: Search) -> None:
    translator = searching(translator, search)
    whole = translator.translate(TEXTS)
    assert [found.source for found in whole] == TEXTS
    assert len({found.text for found in whole}) > 5
    for rows in (1, 3, 7):
        assert equal(replace(translator, rows=rows).translate(TEXTS), whole)


@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=2)], ids=["greedy", "beam"])
def test_a_stream_gives_every_text_once_with_its_number(translator: Translator, search: Search) -> None:
    translator = replace(translator, search=search, rows=6)
    found = list(translator.stream(TEXTS))
    assert sorted(number for number, _ in found) == list(range(len(TEXTS)))
    assert equal([text for _, text in sorted(found, key=lambda each: each[0])], translator.translate(TEXTS))


def test_the_first_answer_does_not_wait_for_the_last(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one row at a time, a text is answered before the next is begun."""
    monkeypatch.setattr("regard.decoding.workers.LEAST", 99)
    begun: list[int] = []
    start = type(translator.model).start
    monkeypatch.setattr(type(translator.model), "start", lambda *given: begun.append(1) or start(*given))
    stream = replace(translator, rows=1).stream(["ein Hund", "und", "zwei Männer"])
    for number in (1, 2, 3):
        next(stream)
        assert len(begun) == number


def test_a_stream_that_is_stopped_ends_without_a_word(translator: Translator) -> None:
    asked = [0]

    def stopped() -> bool:
        asked[0] += 1
        return asked[0] > 2

    assert len(list(translator.stream(TEXTS, stopped))) < len(TEXTS)
    empty = sum(not text.strip() for text in TEXTS)
    assert len(list(translator.stream(TEXTS, lambda: True))) == empty  # nothing has to be written for these


def shortlisted(translator: Translator, words: list[int]) -> Translator:
    """Every source word may call for these."""
    table = np.full((len(translator.tokenizers.source) + 1, len(words)), words, np.int32)
    return replace(translator, shortlist=Shortlist(table, len(translator.tokenizers.target)))


def test_a_shortlist_of_all_words_changes_nothing(translator: Translator) -> None:
    every = shortlisted(translator, list(range(len(translator.tokenizers.target))))
    for search in (Greedy(), Beam(beam_size=3, n_best=3, no_repeat_ngram_size=2)):
        assert equal(searching(every, search).translate(TEXTS), searching(translator, search).translate(TEXTS))


def test_with_a_shortlist_no_other_word_is_written(translator: Translator) -> None:
    target = translator.tokenizers.target
    usual = {word for found in translator.translate(TEXTS) for word in target.encode([found.text])[0]}
    some = sorted(usual - set(range(LEAST)))[::2]
    written = searching(shortlisted(translator, some), Beam(beam_size=3)).translate(TEXTS)
    words = {word for found in written for word in target.encode([found.text])[0]}
    assert words <= {*range(LEAST), *some}
    assert words & set(some)
    assert not usual <= words


def test_threads_do_not_matter(translator: Translator) -> None:
    texts, before = [*TEXTS, *TEXTS[::-1]], torch.get_num_threads()
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(searching(translator, Beam(beam_size=3)).translate(texts))
    torch.set_num_threads(before)
    assert equal(found[1], found[0])
    assert equal(found[2], found[0])


def test_empty_lines_stay_empty_and_in_their_place(translator: Translator) -> None:
    found = translator.translate(TEXTS)
    for text, translated in zip(TEXTS, found, strict=True):
        if not text.strip():
            assert translated == Translated(text, [""], [0.0])
    assert equal(found[:1], found[5:6])  # threads may have put them into different batches
    one, same = translator.translate(TEXTS[:1] * 2)
    assert one == same
    assert searching(translator, Beam(beam_size=2)).translate(["", " \n "]) == [
        Translated("", [""], [0.0]),
        Translated(" \n ", [""], [0.0]),
    ]
    assert translator.translate([]) == []


@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=3, n_best=2)], ids=["greedy", "beam"])
def test_a_text_is_its_sentences_with_the_white_space_they_had(translator: Translator, search: Search) -> None:
    sentences = ["Ein Hund läuft.", "Zwei Männer!", "Über die Wiese?", "한국。", "Und ein Hund"]
    gaps = [" ", "\n\n", " \t ", ""]
    text = "".join(a + b for a, b in zip(sentences, [*gaps, ""], strict=True))
    splits = replace(translator, search=search, longest=40, split=True, language="de")
    found, *alone = splits.translate([f"  {text} ", *sentences])
    assert [len(one.parts) for one in (found, *alone)] == [5, 1, 1, 1, 1, 1]
    for n in range(len(found.texts)):
        assert found.texts[n] == "".join(
            a + b for a, b in zip([one.texts[n] for one in alone], [" ", "\n\n", " \t ", " ", ""], strict=True)
        )
        assert found.scores[n] == pytest.approx(sum(one.scores[n] for one in alone) / len(alone), abs=1e-5)
    assert len(replace(splits, split=False).translate([text])[0].parts) == 1
    assert len(replace(splits, split=False, longest=12).translate([text])[0].parts) > 1


def test_where_it_looked_in_several_pieces(translator: Translator) -> None:
    splits = replace(translator, longest=40, split=True)
    found = splits.translate(["Ein Hund. Zwei Männer."])[0]
    seen = splits.look(found)
    one = len(found.parts[0].source) + 1
    rows = len(found.parts[0].target) + 1
    assert len(found.parts) == 2
    assert len(seen.weights) == len(seen.target)
    assert {len(row) for row in seen.weights} == {len(seen.source)}
    assert all(sum(row) == pytest.approx(1, abs=1e-4) for row in seen.weights)
    assert all(row[one:] == [0.0] * (len(row) - one) for row in seen.weights[:rows])
    assert all(row[:one] == [0.0] * one for row in seen.weights[rows:])


def test_what_hit_its_length_limit_says_so(tokenizers: TokenizerPair) -> None:
    for ends, cut in ((-99.0, True), (99.0, False)):
        model = seq2seq("recurrent", len(tokenizers.target), ends=ends)
        for search in (Greedy(), Beam(beam_size=2), Sample()):
            translator = Translator(model, tokenizers, LONGEST, search, split=True)
            assert [one.cut_short for one in translator.translate(["Ein Hund. Ein Hund.", "und", ""])] == [
                cut,
                cut,
                False,
            ]


def test_n_best_are_the_best_first(translator: Translator) -> None:
    best = searching(translator, Beam(beam_size=4, n_best=3))
    for found in best.translate([text for text in TEXTS if text.strip()]):
        assert len(found.texts) == len(found.scores) == 3
        assert found.scores == sorted(found.scores, reverse=True)
        assert found.text == found.texts[0]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[int]]]:
    """The rows of ids that a translator is about to translate; each becomes itself."""
    rows: list[list[int]] = []

    def generate(self: Engine, requests: list[Request], stopped: object) -> Iterator[Finished]:
        for place, request in enumerate(requests):
            assert request.source is not None
            assert (list(request.prompt), request.source[-1]) == ([BOS], EOS)
            rows.append(list(request.source[:-1]))
            yield Finished(place, [Hypothesis(rows[-1], 0.0, 0.0)])

    monkeypatch.setattr(Engine, "generate", generate)
    return rows


@pytest.fixture(params=[Bpe, Words, Characters])
def repeater(request: pytest.FixtureRequest) -> Translator:
    """Its model is never asked."""
    both = request.param().train([" ".join(WORDS)] * 2)
    return Translator(seq2seq("recurrent", len(both)), TokenizerPair(both, both), 24, Greedy())


def test_long_sentences_are_cut_between_words(repeater: Translator, seen: list[list[int]]) -> None:
    text = " ".join(WORDS * 5)
    (found,) = repeater.translate([text])
    assert found.text == text
    assert len(seen) > 2
    assert max(map(len, seen)) <= 24
    pieces = repeater.tokenizers.source.decode(seen)
    assert {word for piece in pieces for word in piece.split()} == {*WORDS}
    assert all(
        len(one) + len(repeater.tokenizers.source.encode([piece.split()[0]])[0]) > 24
        for one, piece in zip(seen, pieces[1:], strict=False)
    )


@pytest.mark.parametrize("word", ["x" * 500, "한" * 200, "😀" * 99, "Hund" + "y" * 300], ids=lambda word: word[:5])
def test_an_endless_word_is_cut_and_none_of_it_is_lost(word: str, repeater: Translator, seen: list[list[int]]) -> None:
    repeater.translate([f"ein {word} und. die Wiese!"])
    assert max(map(len, seen)) <= 24
    spelt = repeater.tokenizers.source.decode([[token for row in seen for token in row]])
    assert spelt == [f"ein {word} und. die Wiese!"]


def test_a_text_that_fits_is_left_whole(repeater: Translator, seen: list[list[int]]) -> None:
    repeater.translate([" ein.  Hund!\nund "])
    assert seen == repeater.tokenizers.source.encode(["ein.  Hund!\nund"])  # as training has it: nothing around it


def test_an_endless_word_is_translated(translator: Translator) -> None:
    (found,) = translator.translate(["x" * 50])
    assert found.source == "x" * 50
    assert len(found.texts) == 1


def test_what_is_written_ends(tokenizers: TokenizerPair) -> None:
    """A model that never says <eos> is stopped, later for longer sources; no mark is ever written."""
    model = seq2seq("recurrent", len(tokenizers.target), ends=-99.0)
    endless = Translator(model, tokenizers, LONGEST, Greedy())
    texts = [" ".join(WORDS[:length]) for length in (1, 4, 6)]
    requests = [endless._request(ids, place) for place, ids in enumerate(tokenizers.source.encode(texts))]
    for text, (best,) in zip(texts, endless._engine.write(requests), strict=True):
        assert len(best.tokens) == 2 * (len(text.split()) + 1) + 10
        assert not {PAD, BOS, EOS} & set(best.tokens)


@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=3)], ids=["greedy", "beam"])
def test_a_model_with_few_positions_writes_no_further(search: Search, tokenizers: TokenizerPair) -> None:
    """What it writes ends where its positions do."""
    few = {"kind": "learned", "limit": 5}
    model = seq2seq("transformer", len(tokenizers.target), ends=-99.0, positions=few)
    used = Translator(model, tokenizers, LONGEST, search)
    requests = [used._request(ids, place) for place, ids in enumerate(tokenizers.source.encode(["ein Hund", "und"]))]
    assert [len(best.tokens) for (best,) in used._engine.write(requests)] == [4, 4]  # with <bos> five


def test_a_model_that_can_read_little_is_given_little(tokenizers: TokenizerPair) -> None:
    """Longer sources are split, as those are that are longer than any it has learnt from."""
    encoder, decoder = STACKS["transformer"]
    stacks = {"encoder": encoder | {"positions": {"kind": "learned", "limit": 3}}, "decoder": decoder}
    sizes = dict.fromkeys(("source_vocab_size", "target_vocab_size"), len(tokenizers.source))
    model = build({"model": {"kind": "seq2seq", "width": 16, **stacks, **sizes}}).eval()
    used = Translator(model, tokenizers, LONGEST, Greedy())
    whole, *parts = used.translate(["ein Hund läuft über die", "ein Hund", "läuft über", "die"])
    assert whole.text == " ".join(part.text for part in parts)


@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=3)], ids=["greedy", "beam"])
def test_weights_that_are_no_numbers_are_told_in_a_sentence(search: Search, tokenizers: TokenizerPair) -> None:
    model = seq2seq("recurrent", len(tokenizers.target))
    with torch.no_grad():
        model.head.weight.fill_(torch.nan)
    with pytest.raises(
        FailedError,
        match=r"^no token can be chosen: the model's scores are not numbers \(NaN, its weights are damaged\)",
    ):
        Translator(model, tokenizers, LONGEST, search).translate(["ein Hund", "und"])


def test_another_number_of_hypotheses_leaves_all_else_as_it_was(translator: Translator) -> None:
    said = Beam(beam_size=3, length_penalty=0.3, min_length=4, no_repeat_ngram_size=2)
    used = searching(translator, said)
    assert used.resized().search is said
    for beam, n_best, size in ((5, 1, 5), (0, 2, 3), (0, 4, 4), (3, 3, 3)):
        found = used.resized(beam, n_best).search
        assert isinstance(found, Beam)
        assert vars(found) == vars(said) | {"beam_size": size, "hypotheses": size, "n_best": n_best}
    greedy = used.resized(1).search
    assert isinstance(greedy, Greedy)
    assert (greedy.min_length, greedy.no_repeat_ngram_size) == (4, 2)
    back = searching(used, greedy).resized(4).search
    assert isinstance(back, Beam)
    assert (back.beam_size, back.min_length, back.no_repeat_ngram_size) == (4, 4, 2)
    changed = replace(used, search=Beam(beam_size=5, length_penalty=0.3, min_length=4, no_repeat_ngram_size=2))
    texts = [text for text in TEXTS if text.strip()]
    assert equal(used.resized(5).translate(texts), changed.translate(texts))
    plain = searching(used, Beam(beam_size=5))
    assert [one.text for one in plain.translate(texts)] != [one.text for one in changed.translate(texts)]


def test_one_piece_that_is_cut_off_makes_the_text_one(translator: Translator) -> None:
    pieces = [Piece([5]), Piece([6], " ")]
    for ended, cut in (([True, True], False), ([True, False], True), ([False, True], True)):
        found = [[Hypothesis([7], -1.0, -1.0, each)] for each in ended]
        assert translator._joined("a b", pieces, found).cut_short is cut


def test_a_text_of_just_so_many_tokens_is_one_piece(repeater: Translator, seen: list[list[int]]) -> None:
    (ids,) = repeater.tokenizers.source.encode(["ein Hund. zwei Männer."])
    replace(repeater, longest=len(ids)).translate(["ein Hund. zwei Männer."])
    assert len(seen) == 1


def test_no_two_pieces_draw_by_the_same_number(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, made = list[int](), Translator._request

    def noted(self: Translator, ids: list[int], number: int) -> Request:
        numbers.append(number)
        return made(self, ids, number)

    monkeypatch.setattr(Translator, "_request", noted)
    replace(translator, split=True).translate(["Ein Hund. Die Wiese! Wer?", "Ein Hund. Die Wiese!", "und"])
    assert len(numbers) == len(set(numbers)) >= 6
