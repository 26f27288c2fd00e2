"""GGUF files of small models, written by the `gguf` package as llama.cpp's own converter would have it."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from strangers import SPECIAL, TEMPLATE, VOCABULARY, tokenizer_json
from torch import Tensor, nn

gguf = pytest.importorskip("gguf")

LAYER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "mlp.gate": "ffn_gate_inp",
    "ln_1": "attn_norm",
    "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output",
    "ln_2": "ffn_norm",
    "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down",
}
OUTSIDE = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "transformer.wte": "token_embd",
    "transformer.wpe": "position_embd",
    "transformer.ln_f": "output_norm",
}


def tensors(model: nn.Module) -> dict[str, NDArray[np.float32]]:
    """By the names of GGUF; Llama's queries and keys with the two numbers of a pair side by side."""
    config, found = model.config, {}
    for name, weight in model.named_parameters():
        match = re.fullmatch(r"(?:model\.layers|transformer\.h)\.(\d+)\.(.+?)(?:\.(weight|bias))?", name)
        if not match:
            found[f"{OUTSIDE[name.rpartition('.')[0]]}.{name.rpartition('.')[2]}"] = weight
        elif "experts" in name:
            if "gate_up" in name:
                parts = dict(zip(("gate_exps", "up_exps"), weight.chunk(2, 1), strict=True))
            else:
                parts = {"down_exps": weight}
            found |= {f"blk.{match[1]}.ffn_{part}.weight": one for part, one in parts.items()}
        else:
            found[f"blk.{match[1]}.{LAYER[match[2]]}.{match[3]}"] = turned(weight, match[2], config)
    return {name: one.detach().float().contiguous().numpy() for name, one in found.items()}


def turned(weight: Tensor, name: str, config: Any) -> Tensor:
    if config.model_type == "gpt2":
        return weight.T if weight.dim() == 2 else weight
    heads = {"self_attn.q_proj": config.num_attention_heads, "self_attn.k_proj": config.num_key_value_heads}
    if config.model_type == "qwen2" or name not in heads:
        return weight
    return weight.reshape(heads[name], 2, -1, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


def values(model: nn.Module) -> dict[str, Any]:
    """What the head says of a model; floats are written in 32 bits."""
    config = model.config
    if config.model_type == "gpt2":
        found = {"feed_forward_length": config.n_inner or 4 * config.n_embd}
        found |= {"attention.layer_norm_epsilon": config.layer_norm_epsilon}
    else:
        found = {"feed_forward_length": config.intermediate_size, "attention.head_count_kv": config.num_key_value_heads}
        found |= {"attention.layer_norm_rms_epsilon": config.rms_norm_eps, "vocab_size": config.vocab_size}
        found["rope.freq_base"] = config.rope_parameters["rope_theta"]
        width = (
            config.head_dim if getattr(config, "head_dim", None) else config.hidden_size // config.num_attention_heads
        )
        found |= {"attention.key_length": width, "attention.value_length": width, "rope.dimension_count": width}
    if config.model_type == "mixtral":
        found |= {"expert_count": config.num_local_experts, "expert_used_count": config.num_experts_per_tok}
    found |= {"block_count": config.num_hidden_layers, "context_length": config.max_position_embeddings}
    found |= {"embedding_length": config.hidden_size, "attention.head_count": config.num_attention_heads}
    return found


def speech(size: int = VOCABULARY, pre: str = "gpt-2") -> dict[str, Any]:
    """The tokenizer of `strangers`, filled up to as many tokens as there are embeddings."""
    table = json.loads(tokenizer_json())
    vocab = table["model"]["vocab"] | {one["content"]: one["id"] for one in table["added_tokens"]}
    tokens = sorted(vocab, key=vocab.__getitem__)
    kinds = [3 if token in SPECIAL else 4 if token == "<tool>" else 1 for token in tokens]
    more = size - len(tokens)
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": [*tokens, *(f"[PAD{number}]" for number in range(more))],
        "tokenizer.ggml.token_type": [*kinds, *[5] * more],
        "tokenizer.ggml.merges": [" ".join(merge) for merge in table["model"]["merges"]],
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.eot_token_id": 1,
        "tokenizer.chat_template": TEMPLATE,
    }


def experts_apart(given: dict[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    """As files had them before all experts of a layer were one tensor."""
    found = {}
    for name, weight in given.items():
        parts = {name.replace("_exps", f".{number}"): one for number, one in enumerate(weight)}
        found |= parts if "_exps" in name else {name: weight}
    return found


def put_gguf(path: Path, model: nn.Module, kind: str = "F32", *, apart: bool = False, **changed: Any) -> Path:
    """A file with all matrices of a type; `changed` replaces values of the architecture."""
    name = {"mistral": "llama", "mixtral": "llama"}.get(model.config.model_type, model.config.model_type)
    writer = gguf.GGUFWriter(path, name)
    writer.add_name("A small stranger")
    writer.add_license("apache-2.0")
    for key, value in (values(model) | changed).items():
        add(writer, f"{name}.{key}", value)
    for key, value in speech(model.config.vocab_size).items():
        add(writer, key, value)
    for key, value in (experts_apart(tensors(model)) if apart else tensors(model)).items():
        number = gguf.GGMLQuantizationType[kind if value.ndim > 1 else "F32"]
        writer.add_tensor(key, gguf.quants.quantize(value, number), raw_dtype=number)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def add(writer: Any, key: str, value: Any) -> None:
    kinds = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}
    kinds[list] = writer.add_array
    if value is not None:
        kinds[type(value)](key, value)


def rounded(model: nn.Module, kind: str) -> nn.Module:
    """The same model with its matrices as that type has them."""
    number = gguf.GGMLQuantizationType[kind]
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                turn = model.config.model_type == "gpt2" and weight.shape[0] != VOCABULARY
                rows = (weight.T if turn else weight).contiguous().numpy()
                back = torch.from_numpy(gguf.quants.dequantize(gguf.quants.quantize(rows, number), number).copy())
                weight.copy_(back.view(rows.shape).T if turn else back.view(rows.shape))
    return model
