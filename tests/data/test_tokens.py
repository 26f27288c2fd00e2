"""Every way to cut text gives it back whole, and nothing a text says is taken for a command."""

import copy
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.tokens import BEGIN, END, LEAST, PAD, SPECIAL, Bpe, Characters, Cutter, Tokens, Unigram, Words
from regard.errors import InputError, RecipeError
from regard.training.menu import MENU

many = settings(deadline=None, max_examples=60, derandomize=True)
CUTTERS: dict[str, Callable[..., Cutter]] = {kind: part.entry for kind, part in sorted(MENU.parts["tokens"].items())}
every = pytest.mark.parametrize("kind", CUTTERS)

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
    *("<end>", "<pad><begin>", " <end> ", "▁", "▁▁ a", "Ġ", "ĠGarten", "Ċ", "\ufffd", "\ufeffa", "e\u0301", "é"),
    *("👩‍👩‍👧‍👦", "🇩🇪🇰🇷", "한국어 문장", "ㅎㅏㄴ", "मुंबई", "مرحبا", "İß", "\U0010ffff", "it's I'LL", "a" * 99),
]
ANY = st.one_of(st.text(), st.lists(st.sampled_from(HARD) | st.text(max_size=3), max_size=5).map("".join))


@cache
def learnt(kind: str, size: int = 0, lowercase: bool = False) -> Tokens:
    return CUTTERS[kind](size=size, lowercase=lowercase).learn(TEXTS)


@every
@pytest.mark.parametrize("size", [0, LEAST, LEAST + 41])
def test_hard_texts_come_back(kind: str, size: int) -> None:
    tokens = learnt(kind, size)
    rows = tokens.encode(HARD)
    assert tokens.decode(rows) == HARD
    assert [bool(row) for row in rows] == [bool(text) for text in HARD]


@many
@given(kind=st.sampled_from(list(CUTTERS)), texts=st.lists(ANY, max_size=4))
def test_any_text_comes_back(kind: str, texts: list[str]) -> None:
    tokens = learnt(kind)
    rows = tokens.encode(texts)
    assert tokens.decode(rows) == texts
    assert all(len(SPECIAL) <= token < len(tokens) for row in rows for token in row)
    assert rows == [tokens.encode([text])[0] for text in texts]


@many
@given(
    kind=st.sampled_from(list(CUTTERS)),
    text=st.text(st.characters(max_codepoint=0x52F, exclude_categories=["Cs"]) | st.sampled_from("한국 \n😀ẞİ")),
)
def test_lowercase_loses_nothing_but_case(kind: str, text: str) -> None:
    """Letter by letter: a final sigma stays what it is."""
    tokens = learnt(kind, lowercase=True)
    assert tokens.decode(tokens.encode([text])) == ["".join(letter.lower() for letter in text)]


@every
def test_lowercase_is_learnt_lower(kind: str) -> None:
    tokens = learnt(kind, lowercase=True)
    assert tokens.encode(["EIN HUND"]) == tokens.encode(["ein hund"])
    assert learnt(kind).encode(["EIN HUND"]) != learnt(kind).encode(["ein hund"])


@every
def test_specials_are_silent_and_half_a_character_is_shown(kind: str) -> None:
    tokens = learnt(kind)
    (ids,) = tokens.encode(["Zwei Männer"])
    assert tokens.decode([[BEGIN, *ids, END, PAD, PAD]]) == ["Zwei Männer"]
    assert tokens.decode([[BEGIN, END], []]) == ["", ""]
    (spelt,) = learnt(kind, LEAST).encode(["한"])  # in bytes
    assert learnt(kind, LEAST).decode([spelt[:-1]]) == ["�"]


@every
def test_a_vocabulary_is_opened_as_it_was(kind: str) -> None:
    tokens = learnt(kind, LEAST + 41)
    opened = Tokens.open(json.loads(json.dumps(tokens.table())))
    assert opened.table() == tokens.table()
    assert len(opened) == len(tokens)
    assert opened.encode([*HARD, *TEXTS]) == tokens.encode([*HARD, *TEXTS])


@every
@pytest.mark.parametrize("size", [0, LEAST + 41])
def test_equal_texts_give_equal_vocabularies(kind: str, size: int) -> None:
    again = [CUTTERS[kind](size=size).learn(iter(TEXTS)).table() for _ in range(3)]
    assert again == [learnt(kind, size).table()] * 3


@every
@pytest.mark.parametrize("size", [LEAST, LEAST + 1, LEAST + 17, LEAST + 60])
def test_a_vocabulary_is_never_larger_than_asked_for(kind: str, size: int) -> None:
    tokens = learnt(kind, size)
    assert LEAST <= len(tokens) <= size
    assert len(tokens) == min(size, len(learnt(kind)))
    assert learnt(kind, size).pieces([PAD, BEGIN, END]) == list(SPECIAL)


@every
@pytest.mark.parametrize("size", [1, LEAST - 1])
def test_a_vocabulary_without_room_for_all_bytes_is_refused(kind: str, size: int) -> None:
    with pytest.raises(ValueError, match=rf"^size: wanted at least {LEAST} .*given {size}$"):
        CUTTERS[kind](size=size)
    with pytest.raises(RecipeError, match=r"^tokens: size: "):
        MENU.order("tokens", {"kind": kind, "size": size}, "tokens").build()


def test_more_byte_pairs_than_the_text_has_are_refused() -> None:
    with pytest.raises(RecipeError, match=r"^tokens\.size: .*not 5,000; say tokens\.size=(\d+) or fewer$") as refused:
        Bpe(size=5_000).learn(TEXTS)
    most = int(str(refused.value).split("tokens.size=")[1].split()[0])
    assert len(Bpe(size=most).learn(TEXTS)) == most == len(learnt("bpe"))
    with pytest.raises(RecipeError):
        Bpe(size=most + 1).learn(TEXTS)


@pytest.mark.parametrize("kind", ["unigram", "words", "characters"])
def test_other_vocabularies_are_as_large_as_the_text_allows(kind: str) -> None:
    assert len(learnt(kind, 5_000)) == len(learnt(kind)) < 5_000


def test_words_are_whole_and_the_rest_is_spelt() -> None:
    text = "zwei zwei zwei drei drei eins, "
    tokens = Words(size=LEAST + 2).learn([text])
    assert tokens.pieces(tokens.encode(["zwei drei"])[0]) == ["zwei", "drei"]
    assert tokens.pieces(tokens.encode(["eins"])[0]) == ["␣", "e", "i", "n", "s"]
    assert len(Words().learn([text])) == LEAST + 3


def test_characters_stand_alone() -> None:
    text = "한 läuft."
    tokens = Characters().learn([text])
    assert tokens.pieces(tokens.encode([text])[0]) == ["␣", "한", "␣", "l", "ä", "u", "f", "t", "."]
    assert len(tokens) == LEAST + 2


@pytest.mark.parametrize("cutter", [Bpe, Unigram])
def test_frequent_pieces_are_joined(cutter: type[Cutter]) -> None:
    tokens = cutter(size=LEAST + 60).learn(TEXTS)
    text = " ".join(TEXTS)
    assert len(tokens.encode([text])[0]) < 0.8 * len(text.encode())


def change(table: dict[str, Any], *path: str, to: Any = None) -> dict[str, Any]:
    table = copy.deepcopy(table)
    below = table
    for key in path[:-1]:
        below = below[key]
    below[path[-1]] = to
    return table


def with_a_gap(table: dict[str, Any]) -> dict[str, Any]:
    model = table["model"]
    if isinstance(model["vocab"], list):
        return change(table, "model", "vocab", to=[*model["vocab"][:-1], ["<pad>", 0.0]])
    return change(table, "model", "vocab", "one more", to=len(model["vocab"]) + 7)


def without_ends(table: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(table).replace("<end>", "</s>")
    damaged: dict[str, Any] = json.loads(text)
    return damaged


@every
@pytest.mark.parametrize(
    "damage",
    [
        lambda table: {},
        lambda table: {"version": "1.0"},
        lambda table: change(table, "model"),
        lambda table: change(table, "model", "vocab", to={}),
        lambda table: change(table, "model", "vocab", to=[]),
        lambda table: change(table, "model", "type", to="Words"),
        lambda table: change(table, "normalizer", to={"type": "Lowercase"}),
        lambda table: change(table, "pre_tokenizer"),
        lambda table: change(table, "pre_tokenizer", to={"type": "pickle"}),
        lambda table: change(table, "decoder"),
        with_a_gap,
        without_ends,
    ],
)
def test_a_damaged_vocabulary_is_refused(kind: str, damage: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    with pytest.raises(InputError, match=r"^not a vocabulary"):
        Tokens.open(damage(learnt(kind).table()))
