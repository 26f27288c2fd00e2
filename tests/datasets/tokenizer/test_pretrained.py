"""A tokenizer.json of another maker is opened as it is, and its special tokens are found or named."""

import json
from pathlib import Path
from typing import Any

import pytest
from foreign import END_OF_TEXT, STYLES, TEXTS, content, put, table
from tokenizers import Tokenizer as Engine

from regard.datasets.menu import SLOTS
from regard.datasets.tokenizer import Pretrained, Tokenizer
from regard.errors import InputError, RecipeError
from regard.recipe import Menu

every = pytest.mark.parametrize("style", STYLES)
HARD = ["", " a", "a  b ", "개가 푸른 풀밭을 달린다. 😀👍🏽", "Ÿ 1234 «Ça va?»", *TEXTS]
FOUND = {
    "gpt2": {"pad": None, "bos": END_OF_TEXT, "eos": END_OF_TEXT},
    "llama": {"pad": None, "bos": "<s>", "eos": "</s>"},
    "llama_metaspace": {"pad": None, "bos": "<s>", "eos": "</s>"},
    "marian": {"pad": "<pad>", "bos": None, "eos": "</s>"},
}


def opened(file: str, **named: str) -> Tokenizer:
    return Pretrained(file=file, **named).train([])


@every
def test_it_cuts_and_joins_as_the_library_does(style: str, tmp_path: Path) -> None:
    tokenizer, engine = opened(put(tmp_path, style)), Engine.from_str(content(style))
    rows = [engine.encode(text, add_special_tokens=False).ids for text in HARD]
    assert tokenizer.encode(HARD) == rows
    assert tokenizer.decode(rows) == [engine.decode(row, skip_special_tokens=False) for row in rows]
    assert len(tokenizer) == engine.get_vocab_size() == 1 + max(engine.get_vocab().values())
    assert tokenizer.prefix == ""
    if style in ("gpt2", "llama"):  # the others lose spaces, or what they do not know
        assert tokenizer.decode(rows) == HARD


@every
def test_usual_special_tokens_are_found_and_missing_ones_are_none(style: str, tmp_path: Path) -> None:
    tokenizer, numbers = opened(put(tmp_path, style)), Engine.from_str(content(style)).get_vocab()
    for role, name in FOUND[style].items():
        assert vars(tokenizer)[role] == (None if name is None else numbers[name]), role
    assert tokenizer.special == {numbers[name] for name in FOUND[style].values() if name is not None}


@every
def test_special_tokens_are_those_that_are_named(style: str, tmp_path: Path) -> None:
    numbers = Engine.from_str(content(style)).get_vocab()
    tokenizer = opened(put(tmp_path, style), bos="e", eos="n", pad="r")
    assert [tokenizer.bos, tokenizer.eos, tokenizer.pad] == [numbers["e"], numbers["n"], numbers["r"]]


@pytest.mark.parametrize("role", ["bos", "eos", "pad"])
def test_a_name_that_is_not_there_is_refused_with_its_key(role: str, tmp_path: Path) -> None:
    file = put(tmp_path, "marian")
    with pytest.raises(RecipeError, match=rf"^tokenizer\.{role}: {file} has no token '<nowhere>'$"):
        opened(file, **{role: "<nowhere>"})


@every
def test_it_is_kept_in_a_table_and_opened_as_it_was(style: str, tmp_path: Path) -> None:
    tokenizer = opened(put(tmp_path, style))
    again = Tokenizer.open(json.loads(json.dumps(tokenizer.table())))
    assert again.table() == tokenizer.table()
    assert again.encode(HARD) == tokenizer.encode(HARD)
    assert len(again) == len(tokenizer)


@every
def test_the_file_of_a_run_is_opened_with_its_special_tokens(style: str, tmp_path: Path) -> None:
    """They need not have the usual names; those that are named go before, and damage is refused as in a run."""
    held, file = opened(put(tmp_path, style), eos="n").table(), tmp_path / "kept.json"
    file.write_text(json.dumps(held))
    assert opened(str(file)).table() == held
    assert opened(str(file), eos="e").table() == held | {"eos": Engine.from_str(content(style)).get_vocab()["e"]}
    file.write_text(json.dumps(held | {"eos": 10**6}))
    with pytest.raises(InputError, match=r"^tokenizer.file: not a tokenizer: 1000000 is no id of its"):
        opened(str(file))
    file.write_text(json.dumps(held | {"tokenizer": held["tokenizer"] | {"pre_tokenizer": {"type": "pickle"}}}))
    with pytest.raises(InputError, match=r"^tokenizer.file: not a tokenizer: pre_tokenizer: 'pickle'"):
        opened(str(file))


@every
def test_specials_are_silent_and_all_others_are_shown(style: str, tmp_path: Path) -> None:
    tokenizer = opened(put(tmp_path, style))
    (row,) = tokenizer.encode(["two men"])
    special = sorted(tokenizer.special)
    assert tokenizer.decode([[*special, *row, *special]]) == ["two men"]
    names = tokenizer.tokens([*special, *row])
    assert names[: len(special)] == [Engine.from_str(content(style)).id_to_token(token) for token in special]
    assert "".join(names[len(special) :]).replace("␣", "") == "twomen"
    if style != "gpt2":
        unknown = Engine.from_str(content(style)).token_to_id("<unk>")
        assert tokenizer.tokens([unknown]) == ["<unk>"]
        assert "<unk>" in tokenizer.decode([[unknown]])[0]


@every
def test_nothing_is_cut_off_or_filled_up(style: str, tmp_path: Path) -> None:
    engine = Engine.from_str(content(style))
    engine.enable_truncation(3)
    engine.enable_padding(length=50)
    limits = {key: json.loads(engine.to_str())[key] for key in ("truncation", "padding")}
    assert all(limits.values())
    plain, limited = opened(put(tmp_path, style)), opened(put(tmp_path, style, **limits))
    assert limited.encode(TEXTS) == plain.encode(TEXTS)
    held = plain.table()
    reopened = Tokenizer.open(held | {"tokenizer": held["tokenizer"] | limits})
    assert reopened.encode(TEXTS) == plain.encode(TEXTS)
    assert len(plain.encode(TEXTS)[0]) > 3


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": None}, "not a tokenizer: "),
        ({"model": {"type": "Magic"}}, "not a tokenizer: "),
        (
            {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
            "not a tokenizer: normalizer: ",
        ),
        ({"pre_tokenizer": {"type": "pickle"}}, "not a tokenizer: "),
    ],
    ids=["nothing", "unknown", "panic", "pickle"],
)
def test_what_is_no_tokenizer_is_refused(changed: dict[str, Any], said: str, tmp_path: Path) -> None:
    """Also where the library would rather end the program."""
    with pytest.raises(InputError, match=f"^tokenizer.file: {said}"):
        opened(put(tmp_path, "gpt2", **changed))
    with pytest.raises(InputError, match=f"^{said}"):
        Tokenizer.open({"prefix": "", "tokenizer": table("gpt2") | changed})


def test_a_file_that_is_not_there_or_no_table_is_refused_with_the_key(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[1]")
    for name, said in (("nothing.json", "no such file"), ("list.json", "damaged: not a JSON table")):
        with pytest.raises(InputError, match=rf"^tokenizer\.file: {tmp_path}/{name}: {said}$"):
            opened(str(tmp_path / name))


@pytest.mark.parametrize(
    "change",
    [{"tokenizer": None}, {"prefix": None}, {"pad": 10**6}, {"bos": -1}, {"eos": True}, {"eos": "</s>"}, {"pad": 1.0}],
    ids=str,
)
def test_a_damaged_table_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    held = opened(put(tmp_path, "marian")).table()
    assert Tokenizer.open(held).table() == held
    with pytest.raises(InputError, match="^not a tokenizer: "):
        Tokenizer.open(held | change)


def test_a_recipe_names_the_file_from_where_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "marian")
    monkeypatch.chdir(tmp_path)
    part = Menu(*SLOTS).order("tokenizer", {"kind": "pretrained", "file": "tokenizer.json"}, "tokenizer")
    monkeypatch.chdir("/")
    assert part.table()["file"] == str(tmp_path / "tokenizer.json")
    assert part.build().joint
    assert part.build().train(TEXTS).eos == 0


@every
def test_control_tokens_are_letters_unless_a_template_wrote_them(style: str, tmp_path: Path) -> None:
    """Also where a file has merges that would join the letters of one; Unigram pieces are as their library has them."""
    if style == "marian":
        return
    parsed = table(style)
    control = [token["content"] for token in parsed["added_tokens"]]
    model = parsed["model"]
    for name in control:  # as if it had been learnt like any other piece
        letters = [letter for letter in name if letter not in model["vocab"]]
        model["vocab"] |= {letter: len(model["vocab"]) + number for number, letter in enumerate(dict.fromkeys(letters))}
    numbers = {token["content"]: token["id"] for token in parsed["added_tokens"]}
    if style == "llama":
        model["vocab"]["s>"] = len(model["vocab"])
        model["merges"] += [["s", ">"], ["<", "s>"]]
    tokenizer = opened(put(tmp_path, style, model=model))
    for name in control:
        (plain,), (asked,) = tokenizer.encode([f"a {name} b"]), tokenizer.encode([f"a {name} b"], special=True)
        assert numbers[name] not in plain
        assert asked.count(numbers[name]) == 1
        assert tokenizer.decode([plain]) == [f"a {name} b"]
        assert tokenizer.encode([f"a {name} b"]) == [plain]  # whatever was asked in between


def test_added_tokens_have_the_ids_they_claim(tmp_path: Path) -> None:
    """The library numbers them by their place, whatever the file says."""
    added = [dict(token, id=token["id"] + 1) for token in table("gpt2")["added_tokens"]]
    with pytest.raises(InputError, match="has another id than its place gives it"):
        opened(put(tmp_path, "gpt2", added_tokens=added))
