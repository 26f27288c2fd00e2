"""What a config asks for and Regard cannot express is refused by name, before any weight is read."""

import json
from pathlib import Path
from typing import Any

import pytest
from strangers import FAMILIES, change, put, stranger

from regard.errors import InputError
from regard.importing import read_model
from regard.importing.configs import read_config

WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "another family": (
        "llama",
        {"model_type": "gemma2"},
        "model_type: 'gemma2' is not among the families that can be imported; there is gpt2, [a-z0-9, ]*resnet$",
    ),
    "a slip": ("llama", {"model_type": "lama"}, "can be imported; did you mean 'llama'\\?$"),
    "none": ("llama", {"model_type": None}, "model_type: 'None' is not among"),
    "scaled positions": ("llama", {"rope_parameters": {"rope_type": "yarn", "factor": 8.0}}, "'yarn': Regard knows"),
    "scaled, older": ("llama", {"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "'dynamic': Regard knows"),
    "scaled by nothing": ("llama", {"rope_scaling": {"type": "linear"}}, "stretch"),
    "scaled, of unknown length": (
        "llama",
        {"rope_scaling": {"type": "llama3", "factor": 2.0}},
        "original_max_pos.*miss",
    ),
    "part of a head": ("llama", {"partial_rotary_factor": 0.5}, "partial_rotary_factor: 0.5"),
    "part of a head, newer": (
        "llama",
        {"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}},
        "partial_rotary_factor: 0.5",
    ),
    "odd positions": ("llama", {"rope_parameters": {"rope_theta": 1e4, "odd": 1}}, "odd: 1: not known here"),
    "no base": ("llama", {"rope_parameters": {"rope_theta": 0.0}}, "base: wanted a number > 0"),
    "softcapping": ("llama", {"final_logit_softcapping": 30.0}, "final_logit_softcapping: 30.0: Regard has no such"),
    "parallel": ("llama", {"use_parallel_residual": True}, "use_parallel_residual: True"),
    "rounded": ("llama", {"quantization_config": {"bits": 4}}, "quantization_config: .* rounded"),
    "code": ("llama", {"auto_map": {"AutoModel": "x.Y"}}, "auto_map: .*code of its own"),
    "a classifier": ("llama", {"architectures": ["LlamaForSequenceClassification"]}, "architectures: "),
    "an activation": ("llama", {"hidden_act": "gelu"}, "hidden_act: 'gelu': wanted silu"),
    "an activation of gpt2": ("gpt2", {"activation_function": "tanh"}, "activation_function: 'tanh'"),
    "scaled by depth": ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx: True"),
    "not scaled": ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights: False"),
    "some layers": ("qwen2 window", {"max_window_layers": 1, "layer_types": None}, "one pattern for all layers"),
    "other layers": (
        "qwen2 window",
        {"layer_types": ["full_attention", "sliding_attention"]},
        "wanted sliding_attention in all 2",
    ),
    "layers of mistral": ("mistral", {"layer_types": ["sliding_attention"] * 2}, "wanted full_attention in all 2"),
    "unknown": (
        "llama",
        {"clever_trick": 1},
        "clever_trick: 1: not known here.* HARMLESS in regard/importing/harmless.py",
    ),
    "no number": ("llama", {"hidden_size": "24"}, "hidden_size: '24': wanted a whole number"),
    "a truth": ("llama", {"num_hidden_layers": True}, "num_hidden_layers: True"),
    "too large": (
        "llama",
        {"num_hidden_layers": 10**30},
        "num_hidden_layers: a number of many digits|num_hidden_layers: 1",
    ),
    "negative": ("llama", {"num_attention_heads": -4}, "num_attention_heads: -4"),
    "missing": ("llama", {"vocab_size": None}, "vocab_size: missing"),
    "infinite": ("llama", {"rms_norm_eps": float("inf")}, "rms_norm_eps"),
    "no eps": ("llama", {"rms_norm_eps": 0}, "eps"),
    "more layers": ("llama", {"num_hidden_layers": 3}, "model.layers.2.* is missing"),
    "many layers": ("llama", {"num_hidden_layers": 10**6}, "asks for 1,000,000 weights or more, and there are 21"),
    "fewer layers": ("llama", {"num_hidden_layers": 1}, "model.layers.1.* does not ask for"),
    "wider": ("llama", {"hidden_size": 48}, r"is 317×24, and its config asks for 317×48"),
    "more words": ("llama", {"vocab_size": 2**24}, "asks for 16777216×24"),
    "groups": ("llama", {"num_key_value_heads": 3, "head_dim": 4}, "k_proj.weight is 12×24|asks for"),
    "heads": ("llama", {"num_attention_heads": 5, "head_dim": None}, "5 heads do not divide"),
    "tied": ("llama tied", {"tie_word_embeddings": False}, "lm_head.weight is missing"),
    "biased": ("llama", {"attention_bias": True}, "bias is missing"),
    "unbiased": ("llama biased", {"attention_bias": False}, "bias is a weight that its config does not ask for"),
    "experts": ("mixtral", {"num_local_experts": 4}, "asks for|does not ask for"),
    "many experts": ("mixtral", {"num_local_experts": 10**6}, "asks for 2,000,000 weights or more"),
    "more active": ("mixtral", {"num_experts_per_tok": 7}, "active: 7 of 5 experts"),
}


@pytest.mark.parametrize("family", ["gpt2", "llama", "mistral", "qwen2", "mixtral"])
def test_what_a_config_leaves_out_is_what_transformers_takes_it_for(family: str) -> None:
    said = {"vocab_size": 317, "hidden_size": 32, "intermediate_size": 22}
    said |= {"num_hidden_layers": 2, "num_attention_heads": 8}
    if family == "gpt2":
        said = {"vocab_size": 317, "n_embd": 32, "n_layer": 2, "n_head": 8}
    whole = json.loads(FAMILIES[family][1](**said).to_json_string(use_diff=False))
    assert read_config(said | {"model_type": family}, "config.json") == read_config(whole, "config.json")
    if family in ("llama", "qwen2"):  # of the others transformers takes null no more
        said |= {"num_key_value_heads": None}
        heads = FAMILIES[family][1](**said).num_key_value_heads
        assert read_config(said | {"model_type": family}, "config.json").kv_heads == heads == 8


def test_a_window_of_qwen_is_used_only_where_that_is_said() -> None:
    said = {"model_type": "qwen2", "vocab_size": 317, "hidden_size": 32, "intermediate_size": 22}
    said |= {"num_hidden_layers": 2, "num_attention_heads": 8, "sliding_window": 9}
    for used, first, wanted in ((False, 1, None), (True, 2, None), (True, 0, 9)):
        found = read_config(said | {"use_sliding_window": used, "max_window_layers": first}, "config.json")
        assert found.window == wanted


@pytest.mark.parametrize("case", WRONG)
def test_it_is_refused_by_name(case: str, tmp_path: Path) -> None:
    family, changed, said = WRONG[case]
    folder = change(put(tmp_path, stranger(family)), **changed)
    with pytest.raises(InputError, match=said) as raised:
        read_model(folder)
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("config.json", "no config.json in it"),
        ("model.safetensors", "no model.safetensors in it"),
        ("tokenizer.json", "no tokenizer.json in it"),
    ],
)
def test_what_is_not_there_is_named(name: str, said: str, tmp_path: Path) -> None:
    folder = put(tmp_path, stranger("gpt2"))
    (folder / name).unlink()
    with pytest.raises(InputError, match=said):
        read_model(folder)


def test_pickles_are_never_read(tmp_path: Path) -> None:
    folder = put(tmp_path, stranger("gpt2"))
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(InputError, match="pickled, which could run code"):
        read_model(folder)


@pytest.mark.parametrize("name", ["../model.safetensors", "x" * 5000, "", "a\0b", "/etc/passwd", "1" * 400, 5, None])
def test_no_file_outside_is_named(name: object, tmp_path: Path) -> None:
    folder = put(tmp_path / "given", stranger("gpt2"))
    (folder / "model.safetensors").rename(tmp_path / "model.safetensors")
    index = {"weight_map": {"transformer.wte.weight": name}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(InputError, match="no table of weights and the files"):
        read_model(folder)


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_what_is_no_number_is_refused(number: str, tmp_path: Path) -> None:
    theirs = stranger("llama")
    theirs.model.norm.weight.data[3] = float(number)
    with pytest.raises(InputError, match=rf"{tmp_path}: model\.norm\.weight holds what is no number"):
        read_model(put(tmp_path, theirs))


def test_what_is_too_large_for_float32_is_refused(tmp_path: Path) -> None:
    theirs = stranger("llama").double()
    theirs.model.norm.weight.data[3] = -1e39
    with pytest.raises(InputError, match=r"model\.norm\.weight holds what is no number in float32 \(NaN, infinite or "):
        read_model(put(tmp_path, theirs))


def test_more_than_there_is_room_for_is_refused_before_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = put(tmp_path, stranger("llama"))
    monkeypatch.setattr("regard.importing.plan.memory_here", lambda: 2**16)
    with pytest.raises(InputError, match=r"take 0\.0 GiB in float32, and there are 0\.0"):
        read_model(folder)


TOKENS: dict[str, tuple[dict[str, Any], str]] = {
    "an end that is none": ({"eos_token": "<nowhere>"}, "eos_token: '<nowhere>' is not in tokenizer.json"),
    "an end of another kind": ({"eos_token": 5}, "eos_token: '5' is not in"),
    "another token": ({"added_tokens_decoder": {"1": {"content": "<|im_end|>"}}}, "is not token 1 of tokenizer.json"),
    "a template that is none": ({"chat_template": 7}, "chat_template: no text"),
    "a long template": ({"chat_template": "x" * 300_000}, "chat_template: no text, or one of more than"),
}


@pytest.mark.parametrize("case", TOKENS)
def test_tokens_that_are_not_there_are_refused(case: str, tmp_path: Path) -> None:
    changed, said = TOKENS[case]
    with pytest.raises(InputError, match=said):
        read_model(change(put(tmp_path, stranger("gpt2")), "tokenizer_config.json", **changed))
    if case == "an end that is none":
        change(tmp_path, "tokenizer_config.json", eos_token=None)
        with pytest.raises(InputError, match="is said to be a token"):
            read_model(change(tmp_path, "generation_config.json", eos_token_id=[5, 99999]))


def test_nothing_is_nothing(tmp_path: Path) -> None:
    for source in (tmp_path / "nowhere", "smollm3", tmp_path / "none.gguf", "a\0b", "x" * 5000, ""):
        with pytest.raises(InputError, match=r"no such|too long|no config\.json"):
            read_model(source)
    (tmp_path / "text.gguf").write_text("text")
    with pytest.raises(InputError, match="not a GGUF file: it does not begin with GGUF"):
        read_model(tmp_path / "text.gguf")
