"""Tokenizers as `transformers` itself writes them for these families: the same ids, and the same beginning."""

import json
from pathlib import Path
from typing import Any

import pytest
from strangers import TEXTS, VOCABULARY, put, stranger, tokenizer_json
from test_gguf_tokenizer import ALPHABET, BYTES, pieces
from tokenizers import Regex, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as Engine
from transformers import GPT2Tokenizer, LlamaTokenizer, PreTrainedTokenizerFast, Qwen2Tokenizer

from regard.datasets.tokenizer.foreign import LATER, TEKKEN
from regard.importing import Imported, read_model

HARD = ["", "a", " two  men ", "Männer 1234 über\n\n e\u0301", "개가 😀 DON'T don't\t1.5/2", *TEXTS]


def learnt() -> tuple[dict[str, int], list[tuple[str, str]]]:
    model = json.loads(tokenizer_json())["model"]
    vocab = {token: number for token, number in model["vocab"].items() if not token.startswith("<|")}
    return dict.fromkeys(vocab, 0) | {token: n for n, token in enumerate(vocab)}, [tuple(m) for m in model["merges"]]


def gpt2() -> Any:
    vocab, merges = learnt()
    return GPT2Tokenizer(vocab=vocab | {"<|endoftext|>": len(vocab)}, merges=merges)


def qwen2() -> Any:
    vocab, merges = learnt()
    made = Qwen2Tokenizer(vocab=vocab, merges=merges, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    made.add_tokens(["<tool_call>"])
    return made


def llama(**options: Any) -> Any:
    values = pieces()
    tokens = values["tokenizer.ggml.tokens"][:-1]
    plain = set(tokens[259:])
    merges = [(token[:cut], token[cut:]) for token in tokens[259:] for cut in range(1, len(token))]
    merges = [(one, other) for one, other in merges if one in plain and other in plain]
    assert set(BYTES) < set(tokens)
    return LlamaTokenizer(vocab={token: n for n, token in enumerate(tokens)}, merges=merges, **options)


def cut_by(pattern: str) -> Any:
    """Llama 3 and Mistral Nemo: control tokens behind all others, words that are tokens taken whole."""
    vocab, merges = learnt()
    engine = Engine(models.BPE(vocab, merges, ignore_merges=True))
    apart = pre_tokenizers.Split(Regex(pattern), "isolated")
    engine.pre_tokenizer = pre_tokenizers.Sequence(
        [apart, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    engine.decoder = decoders.ByteLevel()
    assert set(ALPHABET) <= vocab.keys()
    return PreTrainedTokenizerFast(tokenizer_object=engine, bos_token="<|begin_of_text|>", eos_token="<|eot_id|>")


MAKERS = {
    "gpt2": gpt2,
    "qwen2": qwen2,
    "llama": llama,
    "llama, older": lambda: llama(legacy=True),
    "llama 3": lambda: cut_by(LATER % "{1,3}"),
    "nemo": lambda: cut_by(TEKKEN),
}


def read(made: Any, folder: Path) -> Imported:
    size = max(VOCABULARY, len(made)) + 3
    put(folder, stranger("llama", vocab_size=size, bos_token_id=None, eos_token_id=None))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    made.save_pretrained(folder)
    return read_model(folder)


@pytest.mark.parametrize("name", MAKERS)
def test_ids_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    made = MAKERS[name]()
    found = read(made, tmp_path)
    ours, control = found.tokenizer, made.all_special_tokens
    for text in HARD:
        assert ours.encode([text])[0] == made.encode(text, add_special_tokens=False), text
    chat = f"{made.eos_token} two men{made.eos_token}a"
    assert ours.encode([chat], special=True)[0] == made.encode(chat, add_special_tokens=False)
    for token in control:
        assert made.convert_tokens_to_ids(token) not in ours.encode([f"a{token}b {token}"])[0]
    roles = {"bos": made.bos_token_id, "eos": made.eos_token_id, "pad": made.pad_token_id}
    assert {role: getattr(ours, role) for role in roles} == roles
    assert found.stop_tokens == (made.eos_token_id,)
    begins = made.encode("two men")[:1] == [made.bos_token_id]
    assert found.add_bos == begins
