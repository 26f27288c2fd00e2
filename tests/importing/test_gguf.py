"""GGUF files: the same logits as the model they were made from, in as many bits as they have."""

import os
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from strangers import SPECIAL, TEMPLATE, VOCABULARY, agree, stranger, tokenizer_json
from tokenizers import Tokenizer as Engine
from written import gguf, put_gguf, rounded

from regard.errors import InputError
from regard.importing import read_model
from regard.importing.gguf import head, model
from regard.importing.gguf.config import read_values
from regard.importing.gguf.head import Entry
from regard.importing.gguf.kinds import KINDS, numbers

WIDE = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
FAMILIES = ["gpt2", "gpt2 wide, untied", "llama", "llama tied", "llama biased", "llama own heads", "mistral", "qwen2"]


@pytest.mark.parametrize("family", [*FAMILIES, "mixtral"])
def test_a_file_gives_the_logits_of_the_model_it_was_made_from(family: str, tmp_path: Path) -> None:
    theirs = stranger(family)
    found = read_model(put_gguf(tmp_path / "small.gguf", theirs))
    agree(found, theirs)
    assert found.name == "small"
    assert found.context == theirs.config.max_position_embeddings
    assert found.origin["licence"] == "apache-2.0"
    assert found.recipe["model"]["decoder"]["norm"]["eps"] == 1e-3


def test_experts_may_be_tensors_of_their_own(tmp_path: Path) -> None:
    theirs = stranger("mixtral")
    agree(read_model(put_gguf(tmp_path / "small.gguf", theirs, apart=True)), theirs)


@pytest.mark.parametrize("active", [1, 3])
def test_as_many_experts_answer_as_the_file_says(active: int, tmp_path: Path) -> None:
    theirs = stranger("mixtral", num_experts_per_tok=active)
    agree(read_model(put_gguf(tmp_path / "small.gguf", theirs)), theirs)


def test_a_window_is_one_here_too(tmp_path: Path) -> None:
    theirs = stranger("mistral window")
    agree(read_model(put_gguf(tmp_path / "small.gguf", theirs, **{"attention.sliding_window": 5})), theirs)


def test_files_in_parts_and_positions_in_tensors_are_refused() -> None:
    values = {"general.architecture": "llama"}
    with pytest.raises(InputError, match="split.count: one of several files; join them first"):
        read_values(values | {"split.count": 2}, {}, "a.gguf")
    with pytest.raises(InputError, match="rope_freqs.weight: stretched positions"):
        read_values(values, {"rope_freqs.weight": Entry(KINDS[0], (8,), 0, 32)}, "a.gguf")


def test_positions_may_be_stretched(tmp_path: Path) -> None:
    theirs = stranger("llama linear")
    said = {"rope.scaling.type": "linear", "rope.scaling.factor": 2.5}
    agree(read_model(put_gguf(tmp_path / "small.gguf", theirs, **said)), theirs)


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"])
def test_few_bits_are_read_as_the_package_reads_them(kind: str, tmp_path: Path) -> None:
    theirs = stranger("llama tied", **WIDE)
    found = read_model(put_gguf(tmp_path / "small.gguf", theirs, kind))
    exact = found.weights["target.table.weight"]
    assert not torch.equal(exact, theirs.get_input_embeddings().weight)
    agree(found, rounded(theirs, kind))


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_type_equals_the_package(kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random bytes are numbers in all of them, but for scales that are none; also where they are read in parts."""
    number = gguf.GGMLQuantizationType(kind.number)
    assert (number.name, (kind.block, kind.size)) == (kind.name, gguf.GGML_QUANT_SIZES[number])
    monkeypatch.setattr("regard.importing.gguf.kinds.AT_ONCE", 3 * kind.block)
    content = np.frombuffer(Random(3).randbytes(7 * kind.size), np.uint8)
    with np.errstate(all="ignore"):
        wanted = gguf.quants.dequantize(content.reshape(1, -1), number)
    found = numbers(content, kind, (1, 7 * kind.block))
    np.testing.assert_array_equal(found.float().numpy(), wanted)


def test_only_few_bits_need_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = stranger("llama tied", **WIDE)
    plain, rounded_one = (put_gguf(tmp_path / f"{kind}.gguf", theirs, kind) for kind in ("BF16", "Q8_0"))
    for name in ("gguf", "gguf.constants", "gguf.quants"):
        monkeypatch.setitem(sys.modules, name, None)
    assert read_model(plain).weights
    with pytest.raises(InputError, match=r"need the package gguf: pip install 'regard\[import\]'"):
        read_model(rounded_one)


def test_how_it_reads_and_ends(tmp_path: Path) -> None:
    found = read_model(put_gguf(tmp_path / "a.gguf", stranger("qwen2")))
    assert (found.tokenizer.bos, found.tokenizer.eos, found.tokenizer.pad) == (0, 2, None)
    assert found.stop_tokens == (2, 1)
    assert found.chat_template == TEMPLATE
    assert not found.add_bos
    assert len(found.tokenizer) == VOCABULARY
    theirs = Engine.from_str(tokenizer_json())
    for text in ("Two men, 12345 dogs\n\n  and <tool> 개", f"{SPECIAL[1]}user", ""):
        assert found.tokenizer.encode([text], special=True)[0] == theirs.encode(text, add_special_tokens=False).ids
    assert not set(found.tokenizer.encode([f"{SPECIAL[1]}user"])[0]) & {0, 1, 2}


WRONG = {
    "rope.scaling.type": ("yarn", "rotary positions of all pairs"),
    "rope.dimension_count": (4, "rotary positions of all pairs"),
    "attention.head_count": ([4, 2], "heads in every layer"),
    "logit_scale": (0.5, "not known here"),
    "expert_shared_count": (1, "not known here"),
    "block_count": (3, "blk.2.attn_norm.weight is missing"),
    "embedding_length": (48, "asks for"),
    "attention.head_count_kv": (1, "asks for"),
    "context_length": (None, "missing"),
}


@pytest.mark.parametrize("key", WRONG)
def test_what_cannot_be_expressed_is_refused_by_name(key: str, tmp_path: Path) -> None:
    value, said = WRONG[key]
    path = put_gguf(tmp_path / "a.gguf", stranger("llama"), **{key: value})
    with pytest.raises(InputError, match=said):
        read_model(path)


@pytest.mark.parametrize("left", [100, -100])
def test_a_file_that_becomes_shorter_while_it_is_read_is_refused(
    left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one that is mapped the process would end."""
    path = put_gguf(tmp_path / "small.gguf", stranger("llama"))
    read, many = model.read_speech, path.stat().st_size

    def cut(*words: object) -> object:
        found = read(*words)  # type: ignore[arg-type]
        os.truncate(path, left % many)
        return found

    monkeypatch.setattr(model, "read_speech", cut)
    monkeypatch.setattr(head, "BLOCK", 1)
    with pytest.raises(InputError, match=r"small\.gguf: cannot be read: it became shorter while it was read$"):
        read_model(path)
