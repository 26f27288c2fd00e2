"""Tokenizers that a stranger wrote: of a table nothing is taken but what was checked, and no part of it runs away."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from foreign import STYLES, table

from regard.datasets.tokenizer import Bpe, Characters, Tokenizer, Unigram, Words
from regard.datasets.tokenizer.foreign import GPT2
from regard.datasets.tokenizer.tokenizer import open_engine
from regard.errors import InputError

TEXTS = ["eins zwei drei", "Eins, zwei: DREI!", "größer 한국어", "ein Haus ein Boot"] * 5
OWN = {
    "bpe": Bpe(vocab_size=270),
    "lowercase": Bpe(vocab_size=265, lowercase=True),
    "unigram": Unigram(vocab_size=280),
    "words": Words(),
    "characters": Characters(lowercase=True),
}


@pytest.mark.parametrize("kind", OWN)
def test_what_regard_learns_is_rebuilt_to_the_letter(kind: str) -> None:
    learnt = OWN[kind].train(TEXTS)
    kept = json.loads(json.dumps(learnt.table()))
    again = Tokenizer.open(kept)
    assert again.table() == kept
    assert again.encode(TEXTS) == learnt.encode(TEXTS)
    assert again.decode(again.encode(TEXTS)) == learnt.decode(learnt.encode(TEXTS))


BYTES = {"type": "ByteLevel"}
SPACED = BYTES | {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}
Change = Callable[[dict[str, Any]], Any]
BPE: dict[str, Change] = {
    "a number for a model": lambda held: held.update(model=1.5),
    "a list for a model": lambda held: held.update(model=["merges"]),
    "id twice": lambda held: held["model"]["vocab"].update({"<pad>": 1}),
    "id too high": lambda held: held["model"]["vocab"].update({"<pad>": 10**6}),
    "negative": lambda held: held["model"]["vocab"].update({"<pad>": -1}),
    "no id": lambda held: held["model"]["vocab"].update({"<pad>": 0.0}),
    "truth": lambda held: held["model"]["vocab"].update({"<pad>": False}),
    "half a letter": lambda held: held["model"]["vocab"].update({"\ud800": len(held["model"]["vocab"])}),
    "a byte less": lambda held: held["model"].update(vocab={"<pad>": 0}, merges=[]),
    "strange merge": lambda held: held["model"]["merges"].append(["no", "where"]),
    "merge of three": lambda held: held["model"]["merges"].append(["a", "b", "c"]),
    "merge of numbers": lambda held: held["model"]["merges"].append([1, 2]),
    "no merges": lambda held: held["model"].update(merges=None),
    "no vocabulary": lambda held: held["model"].update(vocab=[]),
    "dropout": lambda held: held["model"].update(dropout=0.5),
    "another model": lambda held: held.update(model={"type": "Magic"}),
    "no model": lambda held: held.pop("model"),
    "precompiled": lambda held: held.update(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
    "bomb": lambda held: held.update(normalizer=replaces(12)),
    "bytes as bytes": lambda held: held.update(normalizer={"type": "Sequence", "normalizers": [BYTES] * 4}),
    "bytes of bytes": lambda held: held.update(pre_tokenizer={"type": "Sequence", "pretokenizers": [SPACED] * 2}),
    "wide letters": lambda held: held.update(normalizer=replace("a", "\N{GRINNING FACE}" * 3)),
    "many parts": lambda held: held.update(normalizer={"type": "Sequence", "normalizers": [nested(1)] * 9}),
    "merge without its prefix": lambda held: held["model"].update(continuing_subword_prefix="\xe9\xe9"),
    "nothing to replace": lambda held: held.update(normalizer=replace("", "x")),
    "pattern": lambda held: held.update(pre_tokenizer=split(r"(a+)+$")),
    "a list for a pattern": lambda held: held.update(pre_tokenizer=split([])),
    "a table for a pattern": lambda held: held.update(pre_tokenizer=split({})),
    "odd option": lambda held: held.update(decoder={"type": "Strip", "content": " ", "start": 10**9, "stop": 0}),
    "unknown option": lambda held: held.update(decoder={"type": "Fuse", "deep": 1}),
    "nested": lambda held: held.update(normalizer=nested(9)),
    "added": lambda held: held.update(added_tokens=[{"id": 10**12, "content": "x"}]),
    "added nothing": lambda held: held.update(added_tokens=[{"id": 1, "content": ""}]),
}


def replace(what: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": what}, "content": content}


def replaces(times: int) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": [replace("a", "a" * 10)] * times}


def nested(times: int) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": [nested(times - 1)] if times else []}


def split(pattern: Any) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


@pytest.mark.parametrize("prefix", ["", " "])
@pytest.mark.parametrize("change", BPE.values(), ids=BPE)
def test_strange_tables_are_refused(change: Change, prefix: str) -> None:
    kept = json.loads(json.dumps(OWN["bpe"].train(TEXTS).table()))
    change(kept["tokenizer"])
    kept["prefix"] = prefix
    with pytest.raises(InputError, match="^not a tokenizer: "):
        Tokenizer.open(kept)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), 1e300, 10**400, -(10**400), "1", None, True])
def test_strange_scores_are_refused(score: Any) -> None:
    kept = OWN["unigram"].train(TEXTS).table()
    kept["tokenizer"]["model"]["vocab"][5][1] = score
    for prefix in ("", " "):
        with pytest.raises(InputError, match=r"^not a tokenizer: a (piece|score)"):
            Tokenizer.open(kept | {"prefix": prefix})


@pytest.mark.parametrize("role", ["pad", "bos", "eos"])
def test_special_ids_are_ids(role: str) -> None:
    kept = OWN["words"].train(TEXTS).table()
    size = len(Tokenizer.open(kept))
    assert Tokenizer.open(kept | {role: size - 1})
    for odd in (size, -1, 1.0, True, "1"):
        with pytest.raises(InputError, match="is no id of its"):
            Tokenizer.open(kept | {role: odd})
    with pytest.raises(InputError):
        Tokenizer.open(kept | {"prefix": "x" * 1000})


@pytest.mark.parametrize("style", STYLES)
def test_what_fills_up_or_cuts_off_is_left_out(style: str) -> None:
    plain = open_engine(table(style))
    padding = {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None}
    padding |= {"pad_id": 0, "pad_type_id": 0, "pad_token": "x"}
    odd = dict(table(style)) | {"padding": padding, "post_processor": {"type": "Strange"}}
    assert open_engine(odd).encode(TEXTS[0]).ids == plain.encode(TEXTS[0]).ids


def test_patterns_of_known_models_are_taken() -> None:
    made = open_engine(dict(table("gpt2")) | {"pre_tokenizer": split(GPT2)})
    assert made.encode(TEXTS[0]).ids


def foreign(**changed: Any) -> dict[str, Any]:
    return {"prefix": "", "tokenizer": table("gpt2") | changed}


def test_nothing_is_left_to_chance_that_another_maker_learnt_with() -> None:
    tokenizer = Tokenizer.open(foreign(model=table("gpt2")["model"] | {"dropout": 0.5}))
    assert len({tuple(tokenizer.encode(["A dog runs across the meadow"])[0]) for _ in range(30)}) == 1


def test_parts_may_make_a_text_a_little_longer() -> None:
    assert Tokenizer.open(foreign(normalizer=replace("a", "a" * 8))).encode(["a"])
    with pytest.raises(InputError, match="longer and longer"):
        Tokenizer.open(foreign(normalizer=replace("a", "a" * 9)))


def test_there_are_not_more_added_tokens_than_anybody_adds() -> None:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    added = [flags | {"id": 320 + n, "content": f"<{n}>"} for n in range(16_385)]
    assert Tokenizer.open(foreign(added_tokens=added[:-1]))
    with pytest.raises(InputError, match="added_tokens: no list of them, or too many"):
        Tokenizer.open(foreign(added_tokens=added))


@pytest.mark.parametrize(("longest", "good"), [(1000, True), (1001, False)])
def test_words_that_are_looked_at_whole_have_an_end(longest: int, good: bool) -> None:
    model = {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"}
    model |= {"max_input_chars_per_word": longest, "continuing_subword_prefix": "##"}
    held = {"prefix": "", "tokenizer": {"model": model}}
    if good:
        assert Tokenizer.open(held).encode(["a"]) == [[1]]
    else:
        with pytest.raises(InputError, match="max_input_chars_per_word='1001'"):
            Tokenizer.open(held)


@pytest.mark.parametrize("unknown", [-1, "a", True, 1.0, 10**6])
def test_an_unknown_token_is_one(unknown: Any) -> None:
    kept = OWN["unigram"].train(TEXTS).table()
    kept["tokenizer"]["model"]["unk_id"] = unknown
    for prefix in ("", " "):
        with pytest.raises(InputError, match="an unknown token that is none"):
            Tokenizer.open(kept | {"prefix": prefix})


def test_pieces_are_there_once_and_all_bytes_are() -> None:
    kept = OWN["unigram"].train(TEXTS).table()
    pieces = kept["tokenizer"]["model"]["vocab"]
    for changed, said in (
        ([*pieces, pieces[-1]], "a piece that is there twice"),
        ([pair for pair in pieces if pair[0] != "q"], "bytes that it cannot spell"),
    ):
        kept["tokenizer"]["model"]["vocab"] = changed
        with pytest.raises(InputError, match=said):
            Tokenizer.open(kept)


def test_ids_of_our_own_have_no_gaps() -> None:
    kept = OWN["bpe"].train(TEXTS).table()
    vocab = kept["tokenizer"]["model"]["vocab"]
    vocab[max(vocab, key=lambda name: vocab[name])] += 100
    with pytest.raises(InputError, match="an id that is none"):
        Tokenizer.open(kept)
