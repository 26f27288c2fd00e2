"""Tokenizers of GGUF files, built anew: scored pieces are joined as SentencePiece joins them."""

from itertools import pairwise, product
from random import Random
from typing import Any

import pytest
from strangers import TEXTS
from tokenizers import Tokenizer as Engine
from tokenizers import models, normalizers, pre_tokenizers, trainers

from regard.errors import InputError
from regard.importing.design import Design
from regard.importing.gguf.tokenizer import BYTES, PRE, read_speech
from regard.importing.speech import Speech
from regard.listener import SILENT, Listener

HARD = ["", "a", " two  men ", "Männer 1234 über <s> [INST]", "개가 😀 달린다", *TEXTS]
ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())


def pieces() -> dict[str, Any]:
    """As Llama 2 has them: three control tokens, the bytes, pieces scored by how early they were learnt, letters."""
    engine = Engine(models.BPE())
    engine.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    engine.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    engine.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=110, show_progress=False))
    vocab = engine.get_vocab()
    learnt = sorted((token for token in vocab if len(token) > 1), key=vocab.__getitem__)
    letters = list(dict.fromkeys([*sorted(token for token in vocab if len(token) == 1), "<", ">", "/", "s"]))
    ranks = list(range(len(learnt)))
    Random(1).shuffle(ranks)  # scores say what is joined first, ids do not
    tokens = ["<unk>", "<s>", "</s>", *BYTES, *(learnt[rank] for rank in ranks), *letters, "[INST]"]
    scores = [0.0] * 259 + [-float(rank) for rank in ranks] + [-1000.0 - n for n in range(len(letters))] + [0.0]
    kinds = [2, 3, 3, *[6] * 256, *[1] * (len(learnt) + len(letters)), 4]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }


def read(values: dict[str, Any], listener: Listener = SILENT) -> Speech:
    size = len(values.get("tokenizer.ggml.tokens", ()))
    design = Design(
        family="llama", vocab_size=size, width=8, layers=1, heads=1, kv_heads=1, head_width=8, hidden=8, context=8,
        eps=1e-5, norm="rms", tied=True, mlp={},
    )  # fmt: skip
    return read_speech(values, design, "a.gguf", listener)


def joined(text: str, values: dict[str, Any]) -> list[int]:
    """By definition: of all neighbours that make a piece those that score highest, the first ones, again and again."""
    scores = dict(zip(values["tokenizer.ggml.tokens"], values["tokenizer.ggml.scores"], strict=True))
    numbers = {token: number for number, token in enumerate(scores)}
    parts = list("▁" + text.replace(" ", "▁")) if text else []
    while True:
        found = [(-scores[a + b], at) for at, (a, b) in enumerate(pairwise(parts)) if a + b in scores]
        if not found:
            break
        at = min(found)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return [one for part in parts for one in ([numbers[part]] if part in numbers else [3 + b for b in part.encode()])]


def test_pieces_are_joined_by_their_scores() -> None:
    values = pieces()
    found = read(values)
    for text in HARD:
        if "<s>" not in text and "[INST]" not in text:
            assert found.tokenizer.encode([text]) == [joined(text, values)], text
        assert found.tokenizer.decode(found.tokenizer.encode([text])) == [text]
    assert found.add_bos
    assert found.stop_tokens == (2,)


def test_what_is_joined_first_is_a_matter_of_scores_alone() -> None:
    random = Random(2)
    letters = ["▁", "a", "b", "c"]
    learnt = random.sample(
        [x + y for x in letters for y in letters] + [x + y + z for x, y, z in product("abc", repeat=3)], 30
    )
    scores = [float(score) for score in random.sample(range(-500, 0), 34)]
    values = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": ["<unk>", "<s>", "</s>", *BYTES, *letters, *learnt],
        "tokenizer.ggml.scores": [0.0] * 259 + scores,
        "tokenizer.ggml.token_type": [2, 3, 3, *[6] * 256, *[1] * 34],
    }
    found = read(values).tokenizer
    for _ in range(200):
        text = "".join(random.choices(" abc", k=random.randrange(12)))
        assert found.encode([text]) == [joined(text, values)], text


def test_control_tokens_are_letters_and_user_tokens_are_whole() -> None:
    values = pieces()
    values["tokenizer.ggml.tokens"][260], values["tokenizer.ggml.token_type"][260] = "s>", 1  # "<" and it make "<s>"
    found = read(values)
    inst = values["tokenizer.ggml.tokens"].index("[INST]")
    (plain,), (control,) = (found.tokenizer.encode(["<s>[INST] a"], special=special) for special in (False, True))
    assert 1 not in plain
    assert inst in plain
    assert control[:2] == [1, inst]


def byte_pairs(pre: str | None) -> dict[str, Any]:
    tokens = [*ALPHABET, "Ġt", "Ġth", "12", "123"]
    values: dict[str, Any] = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": tokens}
    values["tokenizer.ggml.merges"] = ["Ġ t", "Ġt h", "1 2", "12 3"]
    return values | ({} if pre is None else {"tokenizer.ggml.pre": pre})


CUT = {"gpt-2": ["123", "4"], "smollm": ["1", "2", "3", "4"], "qwen2": ["1", "2", "3", "4"], "llama-bpe": ["123", "4"]}
CUT |= {"tekken": ["1", "2", "3", "4"]}


@pytest.mark.parametrize("pre", PRE)
def test_text_is_cut_as_the_file_says(pre: str) -> None:
    found = read(byte_pairs(pre)).tokenizer
    assert [found.engine.id_to_token(one) for one in found.encode(["1234"])[0]] == CUT[pre]
    composed = found.encode(["e\u0301"]) == found.encode(["é"])
    assert composed == (pre == "qwen2")
    assert not read(byte_pairs(pre)).add_bos  # there is none


def test_what_a_file_does_not_say_is_told() -> None:
    said = []

    class Hearing(Listener):
        def say(self, text: str) -> None:
            said.append(text)

    found = read(byte_pairs(None), Hearing())
    assert found.tokenizer.encode(["1234"]) == read(byte_pairs("gpt-2")).tokenizer.encode(["1234"])
    assert len(said) == 1
    assert "as GPT-2 does" in said[0]


WRONG: dict[str, tuple[str, Any, str]] = {
    "another kind": ("model", "bert", "'bert' cannot be built anew"),
    "another cut": ("pre", "deepseek-llm", "'deepseek-llm' cannot be built anew"),
    "no merges": ("merges", None, "merges: missing"),
    "a strange merge": ("merges", ["Ġ t h"], "a merge that is no pair"),
    "a merge of nothing": ("merges", ["q q"], "a merge of what is not in the vocabulary"),
    "tokens twice": ("tokens", ["a", "a"], "there twice"),
    "no texts": ("tokens", [1, 2], "not as many tokens"),
    "too few kinds": ("token_type", [1], "not as many tokens"),
    "an end that is none": ("eos_token_id", 10**6, "is no token"),
    "a normalizer": ("precompiled_charsmap", [1], "normalizer"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_built_anew_is_refused(case: str) -> None:
    key, value, said = WRONG[case]
    with pytest.raises(InputError, match=f"^a.gguf: .*{said}"):
        read(byte_pairs("gpt-2") | {f"tokenizer.ggml.{key}": value})


@pytest.mark.parametrize("key", ["scores", "tokens"])
def test_pieces_need_scores_and_bytes(key: str) -> None:
    values = pieces()
    if key == "scores":
        del values["tokenizer.ggml.scores"]
    else:
        values["tokenizer.ggml.tokens"][5] = "other"
    with pytest.raises(InputError, match=f"tokenizer.ggml.{key}"):
        read(values)
