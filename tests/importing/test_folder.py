"""Folders of the Hugging Face hub: the same logits as `transformers` gives, whatever the family and its switches."""

import hashlib
import json
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from strangers import FAMILIES, SPECIAL, TEMPLATE, VOCABULARY, agree, change, opened, put, stranger, tokens

from regard.errors import InputError
from regard.importing import read_model


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_gives_the_logits_of_transformers(family: str, tmp_path: Path) -> None:
    theirs = stranger(family)
    found = read_model(put(tmp_path / "given", theirs))
    agree(found, theirs)
    assert found.name == found.recipe["name"] == "given"
    assert all(weight.dtype == torch.float32 for weight in found.weights.values())
    assert found.context == theirs.config.max_position_embeddings


@pytest.mark.parametrize("family", ["gpt2", "llama tied", "mixtral"])
def test_many_files_are_one_model(family: str, tmp_path: Path) -> None:
    theirs = stranger(family)
    folder = put(tmp_path, theirs, max_shard_size="10KB")
    shards = sorted(folder.glob("model-*.safetensors"))
    assert len(shards) > 2
    found = read_model(folder)
    agree(found, theirs)
    for path in (*shards, folder / "config.json", folder / "tokenizer.json"):
        assert found.origin["files"][path.name] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_weight_in_two_files_is_refused(tmp_path: Path) -> None:
    folder = put(tmp_path, stranger("gpt2"), max_shard_size="10KB")
    first, second, *_ = sorted(folder.glob("model-*.safetensors"))
    name, weight = next(iter(load_file(second).items()))
    save_file(load_file(first) | {name: weight + 1}, first)
    with pytest.raises(InputError, match=f"{name} is there twice"):
        read_model(folder)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.float64])
def test_weights_of_other_types_become_float32(kind: torch.dtype, tmp_path: Path) -> None:
    theirs = stranger("qwen2")
    with torch.no_grad():  # their own tables of angles stay exact
        for weight in theirs.parameters():
            weight.copy_(weight.to(kind))
    found = read_model(put(tmp_path, deepcopy(theirs).to(kind)))
    assert {one.dtype for one in load_file(tmp_path / "model.safetensors").values()} == {kind}
    agree(found, theirs)


def test_older_names_and_keys_are_known(tmp_path: Path) -> None:
    """GPT-2 as it was first published has no word before its names, and tables that are made anew."""
    theirs = stranger("gpt2")
    folder = put(tmp_path / "gpt2", theirs)
    held = {name.removeprefix("transformer."): one for name, one in load_file(folder / "model.safetensors").items()}
    held |= {"h.0.attn.bias": torch.ones(1, 1, 32, 32), "h.1.attn.masked_bias": torch.tensor(-1e4)}
    save_file(held, folder / "model.safetensors")
    agree(read_model(change(folder, n_ctx=32)), theirs)

    theirs = stranger("llama")
    folder = put(tmp_path / "llama", theirs)
    held = load_file(folder / "model.safetensors") | {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(3)}
    save_file(held, folder / "model.safetensors")
    agree(
        read_model(change(folder, rope_parameters=None, rope_theta=700.0, rope_scaling=None, torch_dtype="x")), theirs
    )


def test_what_a_model_reads_and_how_it_ends(tmp_path: Path) -> None:
    folder = put(tmp_path, stranger("llama"))
    change(folder, "generation_config.json", eos_token_id=[2, 1])
    (folder / "README.md").write_text("---\nlanguage: en\nlicense: apache-2.0\n---\n# A model\nlicense: other\n")
    found = read_model(folder)
    assert (found.tokenizer.bos, found.tokenizer.eos, found.tokenizer.pad) == (0, 2, None)
    assert found.stop_tokens == (2, 1)
    assert found.chat_template == TEMPLATE
    assert found.add_bos  # as what is put around a text says
    assert found.origin["licence"] == "apache-2.0"
    assert found.origin["family"] == "llama"
    said = f"a {SPECIAL[2]} b"
    (plain,), (control,) = found.tokenizer.encode([said]), found.tokenizer.encode([said], special=True)
    assert 2 not in plain
    assert control.count(2) == 1
    assert found.tokenizer.decode([plain]) == [said]
    change(folder, "tokenizer_config.json", add_bos_token=False)
    (folder / "chat_template.jinja").write_text("other")
    again = read_model(folder)
    assert not again.add_bos
    assert again.chat_template == "other"


def test_of_several_templates_the_default_is_for_chats(tmp_path: Path) -> None:
    folder = put(tmp_path, stranger("llama"))
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    several = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "chat"}]
    change(folder, "tokenizer_config.json", chat_template=several)
    assert read_model(folder).chat_template == "chat"


def test_a_folder_of_the_hubs_cache_is_read_through_its_links(tmp_path: Path) -> None:
    theirs = stranger("llama tied")
    given = put(tmp_path / "given", theirs)
    snapshot, blobs = tmp_path / "models--a--b" / "snapshots" / ("0" * 40), tmp_path / "models--a--b" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for path in given.iterdir():
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        path.rename(blobs / digest)
        (snapshot / path.name).symlink_to(f"../../blobs/{digest}")
    agree(read_model(snapshot), theirs)
    (tmp_path / "secret").write_text("{}")
    (snapshot / "config.json").unlink()
    for target in ("../../../secret", str(tmp_path / "secret"), "../../blobs/../../secret"):
        (snapshot / "config.json").symlink_to(target)
        with pytest.raises(InputError, match="a link"):
            read_model(snapshot)
        (snapshot / "config.json").unlink()


def test_a_head_of_its_own_that_is_the_same_is_taken_once(tmp_path: Path) -> None:
    theirs = stranger("llama tied")
    folder = put(tmp_path, theirs)
    held = load_file(folder / "model.safetensors")
    save_file(held | {"lm_head.weight": held["model.embed_tokens.weight"].clone()}, folder / "model.safetensors")
    found = read_model(folder)
    assert "head.weight" not in found.weights
    agree(found, theirs)
    save_file(held | {"lm_head.weight": held["model.embed_tokens.weight"] + 1}, folder / "model.safetensors")
    with pytest.raises(InputError, match="tie_word_embeddings is true, but lm_head.weight differs"):
        read_model(folder)


def test_a_vocabulary_may_be_smaller_than_the_embeddings(tmp_path: Path) -> None:
    found = read_model(put(tmp_path, stranger("gpt2")))
    assert len(found.tokenizer) < VOCABULARY == found.recipe["model"]["vocab_size"]
    assert opened(found)(tokens()).shape[-1] == VOCABULARY
    table = json.loads((tmp_path / "tokenizer.json").read_text())
    table["added_tokens"] = []
    table["model"]["vocab"] |= {f"more{number}": 400 + number for number in range(10)}
    (tmp_path / "tokenizer.json").write_text(json.dumps(table))
    with pytest.raises(InputError, match=r"tokens in tokenizer.json, and 317 embeddings"):
        read_model(tmp_path)
