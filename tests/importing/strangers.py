"""Small models of other makers with random weights, written as their own library writes them."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor, nn
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from regard.importing import Imported
from regard.model.assembly import LanguageModel
from regard.model.build import open_recipe
from regard.model.weights import fitted, load

VOCABULARY, BASE, EPS = 317, 700.0, 1e-3
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEXTS = ["Two men are playing the guitar in front of 1234 people!", "Ein Hund läuft über die grüne Wiese."] * 3
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 24, "intermediate_size": 22, "num_hidden_layers": 2}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": EPS, "max_position_embeddings": 64}
ROTARY = SIZES | HEADS | {"rope_parameters": {"rope_type": "default", "rope_theta": BASE}}
STRETCHED = {"rope_theta": BASE, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
STRETCHED |= {"original_max_position_embeddings": 32}
ENDS = {"bos_token_id": 0, "eos_token_id": 2}
OLD = {"vocab_size": VOCABULARY, "n_positions": 32, "n_embd": 24, "n_layer": 2, "n_head": 4, "layer_norm_epsilon": EPS}
FAMILIES: dict[str, tuple[type[nn.Module], type[Any], dict[str, Any]]] = {
    "gpt2": (GPT2LMHeadModel, GPT2Config, OLD | ENDS),
    "gpt2 wide, untied": (GPT2LMHeadModel, GPT2Config, OLD | ENDS | {"n_inner": 38, "tie_word_embeddings": False}),
    "gpt2 relu": (GPT2LMHeadModel, GPT2Config, OLD | ENDS | {"activation_function": "relu"}),
    "gpt2 gelu": (GPT2LMHeadModel, GPT2Config, OLD | ENDS | {"activation_function": "gelu"}),
    "llama": (LlamaForCausalLM, LlamaConfig, ROTARY | ENDS),
    "llama tied": (LlamaForCausalLM, LlamaConfig, ROTARY | ENDS | {"tie_word_embeddings": True}),
    "llama biased": (LlamaForCausalLM, LlamaConfig, ROTARY | ENDS | {"attention_bias": True, "mlp_bias": True}),
    "llama own heads": (LlamaForCausalLM, LlamaConfig, ROTARY | ENDS | {"head_dim": 10, "num_key_value_heads": 1}),
    "llama 3.1": (
        LlamaForCausalLM,
        LlamaConfig,
        ROTARY | ENDS | {"rope_parameters": STRETCHED | {"rope_type": "llama3", "factor": 8.0}, "head_dim": 16},
    ),
    "llama linear": (
        LlamaForCausalLM,
        LlamaConfig,
        ROTARY | ENDS | {"rope_parameters": {"rope_type": "linear", "rope_theta": BASE, "factor": 2.5}},
    ),
    "mistral": (MistralForCausalLM, MistralConfig, ROTARY | ENDS | {"sliding_window": None}),
    "mistral window": (MistralForCausalLM, MistralConfig, ROTARY | ENDS | {"sliding_window": 5, "head_dim": 8}),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config, ROTARY | ENDS | {"tie_word_embeddings": True}),
    "qwen2 window": (
        Qwen2ForCausalLM,
        Qwen2Config,
        ROTARY | ENDS | {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 0},
    ),
    "mixtral": (MixtralForCausalLM, MixtralConfig, ROTARY | ENDS | {"num_local_experts": 5, "num_experts_per_tok": 2}),
    "mixtral one": (
        MixtralForCausalLM,
        MixtralConfig,
        ROTARY | ENDS | {"num_local_experts": 3, "num_experts_per_tok": 1, "sliding_window": 4, "head_dim": 6},
    ),
}


def shaken(kind: type[nn.Module], config: Any) -> nn.Module:
    """A model in which no weight has a value that hides a mistake, such as a bias of zero."""
    torch.manual_seed(1)
    config._attn_implementation = config._experts_implementation = "eager"
    model = kind(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.2 * torch.randn_like(weight))
    return model


def stranger(family: str, **changed: Any) -> nn.Module:
    kind, config, options = FAMILIES[family]
    return shaken(kind, config(**(options | changed)))


@cache
def tokenizer_json() -> str:
    """Byte pairs with three control tokens at the front, and one word that is always looked for whole."""
    engine = Engine(models.BPE())
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=310, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
    )
    engine.train_from_iterator(TEXTS, trainer)
    engine.add_tokens(["<tool>"])
    engine.post_processor = processors.TemplateProcessing(single=f"{SPECIAL[0]} $A", special_tokens=[(SPECIAL[0], 0)])
    return engine.to_str()


def put(folder: Path, model: nn.Module, **options: Any) -> Path:
    """The folder of a model, as `save_pretrained` and a hub would have it."""
    model.save_pretrained(folder, **options)
    (folder / "tokenizer.json").write_text(tokenizer_json())
    settings = {"bos_token": SPECIAL[0], "eos_token": {"content": SPECIAL[2]}, "chat_template": TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def change(folder: Path, name: str = "config.json", **changed: Any) -> Path:
    """Other values in one of its tables."""
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    return folder


def opened(found: Imported) -> LanguageModel:
    """Regard's own model with what was imported."""
    shapes = {name: list(tensor.shape) for name, tensor in found.weights.items()}
    model = load(fitted(open_recipe(found.recipe).model, shapes), found.weights).eval()
    assert isinstance(model, LanguageModel)
    return model


def tokens(rows: int = 3, length: int = 13) -> Tensor:
    return torch.randint(VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(2))


@torch.inference_mode()
def agree(found: Imported, theirs: nn.Module, tolerance: float = 1e-4) -> None:
    """The same logits at once, and in steps of any size."""
    ours, asked = opened(found), tokens()
    wanted = theirs(input_ids=asked, use_cache=False).logits
    assert wanted.std() > 0.1
    torch.testing.assert_close(ours(asked), wanted, rtol=tolerance, atol=tolerance)
    memory, steps = ours.start(rows=len(asked)), []
    for part in asked.split([1, 4, 1, 2, 5], 1):
        steps.append(ours.head(ours.step(part, memory)))
    torch.testing.assert_close(torch.cat(steps, 1), wanted, rtol=tolerance, atol=tolerance)
