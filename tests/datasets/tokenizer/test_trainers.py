"""Every way to cut text gives it back whole, and nothing a text says is taken for a command."""

import json
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.datasets.menu import SLOTS
from regard.datasets.tokenizer import Bpe, Characters, Tokenizer, TokenizerTrainer, Unigram, Words
from regard.datasets.tokenizer.trainer import BOS, EOS, LEAST, PAD, SPECIAL
from regard.errors import InputError, RecipeError
from regard.recipe import Menu

many = settings(deadline=None, max_examples=60, derandomize=True)
MENU = Menu(*SLOTS)
TRAINERS: dict[str, Callable[..., TokenizerTrainer]] = {
    kind: part.entry for kind, part in sorted(MENU.parts["tokenizer"].items()) if "vocab_size" in part.model_fields
}
every = pytest.mark.parametrize("kind", TRAINERS)

TEXTS = [
    "Ein Hund läuft über die grüne Wiese, und zwei Männer sehen ihm zu.",
    "A dog runs across the green meadow while two men are watching it.",
    "Zwei Männer spielen Gitarre vor einem großen Publikum!",
    "Two men are playing the guitar in front of a large audience!",
    "개가 푸른 풀밭을 달린다. 두 남자가 기타를 친다.",
    "Ÿ 😀 😀👍🏽 1234567890 «Ça va?»",
] * 3
HARD = [
    *("", " ", "  ", "\t", "\n", " a", "a ", "  a   b  ", "a\n\nb\r\n", "\x00\x07\x1b[1m\x7f", "\u00a0\u2003\u3000"),
    *("<eos>", "<pad><bos>", " <eos> ", "▁", "▁▁ a", "Ġ", "ĠGarten", "Ċ", "\ufffd", "\ufeffa", "e\u0301", "é"),
    *("👩‍👩‍👧‍👦", "🇩🇪🇰🇷", "한국어 문장", "ㅎㅏㄴ", "मुंबई", "مرحبا", "İß", "\U0010ffff", "it's I'LL", "a" * 99),
]
ANY = st.one_of(st.text(), st.lists(st.sampled_from(HARD) | st.text(max_size=3), max_size=5).map("".join))


@cache
def learnt(kind: str, size: int = 0, lowercase: bool = False) -> Tokenizer:
    return TRAINERS[kind](vocab_size=size, lowercase=lowercase).train(TEXTS)


@every
@pytest.mark.parametrize("size", [0, LEAST, LEAST + 41])
def test_hard_texts_come_back(kind: str, size: int) -> None:
    tokenizer = learnt(kind, size)
    rows = tokenizer.encode(HARD)
    assert tokenizer.decode(rows) == HARD
    assert [bool(row) for row in rows] == [bool(text) for text in HARD]


@many
@given(kind=st.sampled_from(list(TRAINERS)), texts=st.lists(ANY, max_size=4))
def test_any_text_comes_back(kind: str, texts: list[str]) -> None:
    tokenizer = learnt(kind)
    rows = tokenizer.encode(texts)
    assert tokenizer.decode(rows) == texts
    assert all(len(SPECIAL) <= token < len(tokenizer) for row in rows for token in row)
    assert rows == [tokenizer.encode([text])[0] for text in texts]


@many
@given(
    kind=st.sampled_from(list(TRAINERS)),
    text=st.text(st.characters(max_codepoint=0x52F, exclude_categories=["Cs"]) | st.sampled_from("한국 \n😀ẞİ")),
)
def test_lowercase_loses_nothing_but_case(kind: str, text: str) -> None:
    """Letter by letter: a final sigma stays what it is."""
    tokenizer = learnt(kind, lowercase=True)
    assert tokenizer.decode(tokenizer.encode([text])) == ["".join(letter.lower() for letter in text)]


@every
def test_lowercase_is_learnt_lower(kind: str) -> None:
    tokenizer = learnt(kind, lowercase=True)
    assert tokenizer.encode(["EIN HUND"]) == tokenizer.encode(["ein hund"])
    assert learnt(kind).encode(["EIN HUND"]) != learnt(kind).encode(["ein hund"])


@every
def test_specials_are_silent_and_half_a_character_is_shown(kind: str) -> None:
    tokenizer = learnt(kind)
    (ids,) = tokenizer.encode(["Zwei Männer"])
    assert tokenizer.decode([[BOS, *ids, EOS, PAD, PAD]]) == ["Zwei Männer"]
    assert tokenizer.decode([[BOS, EOS], []]) == ["", ""]
    (spelt,) = learnt(kind, LEAST).encode(["한"])  # in bytes
    assert learnt(kind, LEAST).decode([spelt[:-1]]) == ["�"]


@every
def test_a_vocabulary_is_opened_as_it_was(kind: str) -> None:
    tokenizer = learnt(kind, LEAST + 41)
    opened = Tokenizer.open(json.loads(json.dumps(tokenizer.table())))
    assert opened.table() == tokenizer.table()
    assert len(opened) == len(tokenizer)
    assert opened.encode([*HARD, *TEXTS]) == tokenizer.encode([*HARD, *TEXTS])


@every
@pytest.mark.parametrize("size", [0, LEAST + 41])
def test_equal_texts_give_equal_vocabularies(kind: str, size: int) -> None:
    again = [TRAINERS[kind](vocab_size=size).train(iter(TEXTS)).table() for _ in range(3)]
    assert again == [learnt(kind, size).table()] * 3


@every
@pytest.mark.parametrize("size", [LEAST, LEAST + 1, LEAST + 17, LEAST + 60])
def test_a_vocabulary_is_never_larger_than_asked_for(kind: str, size: int) -> None:
    tokenizer = learnt(kind, size)
    assert LEAST <= len(tokenizer) <= size
    assert len(tokenizer) == min(size, len(learnt(kind)))
    assert learnt(kind, size).tokens([PAD, BOS, EOS]) == list(SPECIAL)


@every
@pytest.mark.parametrize("size", [1, LEAST - 1])
def test_a_vocabulary_without_room_for_all_bytes_is_refused(kind: str, size: int) -> None:
    with pytest.raises(ValueError, match=rf"^vocab_size: wanted at least {LEAST} .*given {size}$"):
        TRAINERS[kind](vocab_size=size)
    with pytest.raises(RecipeError, match=r"^tokenizer: vocab_size: "):
        MENU.order("tokenizer", {"kind": kind, "vocab_size": size}, "tokenizer").build()


def test_more_byte_pairs_than_the_text_has_are_refused() -> None:
    with pytest.raises(
        RecipeError, match=r"^tokenizer\.vocab_size: .*not 5,000; say tokenizer\.vocab_size=\d+ or fewer$"
    ) as refused:
        Bpe(vocab_size=5_000).train(TEXTS)
    most = int(str(refused.value).split("say tokenizer.vocab_size=")[1].split()[0])
    assert len(Bpe(vocab_size=most).train(TEXTS)) == most == len(learnt("bpe"))
    with pytest.raises(RecipeError):
        Bpe(vocab_size=most + 1).train(TEXTS)


@pytest.mark.parametrize("kind", ["unigram", "words", "characters"])
def test_other_vocabularies_are_as_large_as_the_text_allows(kind: str) -> None:
    assert len(learnt(kind, 5_000)) == len(learnt(kind)) < 5_000


def test_words_are_whole_and_the_rest_is_spelt() -> None:
    text = "zwei zwei zwei drei drei eins, "
    tokenizer = Words(vocab_size=LEAST + 2).train([text])
    assert tokenizer.tokens(tokenizer.encode(["zwei drei"])[0]) == ["zwei", "drei"]
    assert tokenizer.tokens(tokenizer.encode(["eins"])[0]) == ["␣", "e", "i", "n", "s"]
    assert len(Words().train([text])) == LEAST + 3


def test_characters_stand_alone() -> None:
    text = "한 läuft."
    tokenizer = Characters().train([text])
    assert tokenizer.tokens(tokenizer.encode([text])[0]) == ["␣", "한", "␣", "l", "ä", "u", "f", "t", "."]
    assert len(tokenizer) == LEAST + 2


@pytest.mark.parametrize("trainer", [Bpe, Unigram])
def test_frequent_pieces_are_joined(trainer: type[Bpe | Unigram]) -> None:
    tokenizer = trainer(vocab_size=LEAST + 60).train(TEXTS)
    text = " ".join(TEXTS)
    assert len(tokenizer.encode([text])[0]) < 0.8 * len(text.encode())


@every
def test_special_ids_are_fields_and_their_names_are_only_text_in_a_text(kind: str) -> None:
    tokenizer = learnt(kind)
    assert (tokenizer.pad, tokenizer.bos, tokenizer.eos) == (PAD, BOS, EOS) == (0, 1, 2)
    assert tokenizer.special == {0, 1, 2}
    assert tokenizer.prefix == " "
    for name in SPECIAL:
        assert not {*tokenizer.encode([f"a {name} b"])[0]} & tokenizer.special
    assert tokenizer.decode(tokenizer.encode([" a"])) == [" a"]  # the prefix is taken away once


@every
@pytest.mark.parametrize(
    "damage",
    [
        {"model": None},
        {"model": {"type": "Words"}},
        {"model": {"type": "BPE", "vocab": {}, "merges": []}},
        {"model": {"type": "Unigram", "vocab": []}},
        {"pre_tokenizer": {"type": "pickle"}},
    ],
    ids=["nothing", "unknown", "no pairs", "no pieces", "pickle"],
)
def test_a_damaged_vocabulary_is_refused(kind: str, damage: dict[str, object]) -> None:
    held = learnt(kind).table()
    assert Tokenizer.open(held).table() == held
    with pytest.raises(InputError, match=r"^not a tokenizer"):
        Tokenizer.open(held | {"tokenizer": held["tokenizer"] | damage})
    for table in ({}, {"version": "1.0"}, held["tokenizer"]):
        with pytest.raises(InputError, match=r"^not a tokenizer: wanted the tables Regard writes$"):
            Tokenizer.open(table)


@every
def test_a_text_is_foreign_whose_characters_no_token_has(kind: str) -> None:
    tokenizer = learnt(kind)
    for text in ("שלום עולם", "Wiese שלום עולם 日本"):
        assert tokenizer.is_foreign(text)
    for text in ("", " ", "zebra", "über die Wiese", "Ein großer Hund שלום", *TEXTS[:4]):
        assert not tokenizer.is_foreign(text)
    assert not learnt(kind, LEAST).is_foreign("שלום")
