"""The values of a GGUF file as a design: every key of its architecture is used, harmless, or refused by name."""

from collections.abc import Mapping
from typing import Any, Literal

from regard.errors import InputError
from regard.importing.design import Design
from regard.importing.gguf.head import Entry
from regard.importing.layouts import GGUF, gpt2_plan, llama_plan, refuse_fewer
from regard.importing.plan import Plan
from regard.importing.settings import Settings

ARCHITECTURES = ("llama", "qwen2", "gpt2")
HARMLESS = {"vocab_size"}
WHERE = "HARMLESS in regard/importing/gguf/config.py"
SCALED = "of a GGUF file Regard knows rotary positions of all pairs: none, linear"


def read_values(values: Mapping[str, Any], tensors: Mapping[str, Entry], named: str) -> Design:
    """The design that the values ask for. What they leave open (biases, a head of its own) the tensors say."""
    family = values.get("general.architecture")
    if family not in ARCHITECTURES:
        raise InputError(
            f"{named}: general.architecture: {str(family)[:60]!r} is not among those that can be imported: "
            f"{', '.join(ARCHITECTURES)}"
        )
    if values.get("split.count", 1) not in (0, 1):
        raise InputError(f"{named}: split.count: one of several files; join them first: llama-gguf-split --merge")
    if "rope_freqs.weight" in tensors or "rope_factors_long.weight" in tensors:
        raise InputError(
            f"{named}: rope_freqs.weight: stretched positions (as in Llama 3.1): import its Hugging Face folder"
        )
    before = f"{family}."
    table = {key.removeprefix(before): value for key, value in values.items() if key.startswith(before)}
    settings = Settings(table, f"{named}: {family}")
    embedding = tensors.get("token_embd.weight")
    if embedding is None or len(embedding.shape) != 2:
        raise InputError(f"{named}: token_embd.weight is missing, or no table of embeddings")
    design = (_gpt2 if family == "gpt2" else _llama)(settings, str(family), embedding.shape[0], tensors)
    settings.close(HARMLESS, WHERE)
    return design


def gguf_plan(design: Design, tensors: Mapping[str, Entry], named: str) -> Plan:
    """Where the tensors go. In files of Llama pairs stand as in Regard; Qwen's stand half a head apart."""
    stacked = "blk.0.ffn_gate_exps.weight" in tensors
    refuse_fewer(tensors.keys(), design.layers * (1 if stacked else max(1, design.experts)), named)
    if design.family == "gpt2":
        return gpt2_plan(design, GGUF, turned=False)
    return llama_plan(design, GGUF, halves=design.family != "llama", stacked=stacked)


def _gpt2(settings: Settings, family: str, vocab_size: int, tensors: Mapping[str, Entry]) -> Design:
    width, heads = settings.count("embedding_length"), _heads(settings)
    hidden = settings.count("feed_forward_length", 4 * width)
    return Design(
        family=family,
        vocab_size=vocab_size,
        width=width,
        layers=settings.count("block_count"),
        heads=heads,
        kv_heads=settings.count("attention.head_count_kv", heads),
        head_width=_head_width(settings, width, heads),
        hidden=hidden,
        context=settings.count("context_length"),
        eps=settings.number("attention.layer_norm_epsilon", 1e-5),
        norm="layer",
        tied="output.weight" not in tensors,
        mlp={"kind": "gelu", "approximate": "tanh", "hidden": hidden, "bias": True},
        bias=True,
    )


def _llama(settings: Settings, family: str, vocab_size: int, tensors: Mapping[str, Entry]) -> Design:
    width, heads = settings.count("embedding_length"), _heads(settings)
    head_width = settings.count("attention.key_length", 0) or _head_width(settings, width, heads)
    settings.must("attention.value_length", head_width)
    settings.must("rope.dimension_count", head_width, why=SCALED)
    settings.must("attention.causal", True)
    hidden, experts = settings.count("feed_forward_length"), settings.count("expert_count", 0)
    active = settings.count("expert_used_count", 2) if experts else 0
    swiglu = {"kind": "swiglu", "bias": "blk.0.ffn_down.bias" in tensors}
    mixed = {"kind": "experts", "experts": experts, "active": active, "portions": "active"}
    return Design(
        family=family,
        vocab_size=vocab_size,
        width=width,
        layers=settings.count("block_count"),
        heads=heads,
        kv_heads=settings.count("attention.head_count_kv", heads),
        head_width=head_width,
        hidden=hidden,
        context=settings.count("context_length"),
        eps=settings.number("attention.layer_norm_rms_epsilon", 1e-6),
        norm="rms",
        tied="output.weight" not in tensors,
        mlp=(mixed if experts else swiglu) | {"hidden": hidden},
        rotary={"base": settings.number("rope.freq_base", 10000.0)} | _stretch(settings),
        window=settings.count("attention.sliding_window", 0) or None,
        bias=_bias(tensors),
    )


def _stretch(settings: Settings) -> dict[str, Any]:
    """Positions stretched over longer texts, all pairs alike. The other ways stand in tensors, which are refused."""
    settings.must("rope.scaling.type", "none", "linear", why=SCALED)
    settings.get("rope.scaling.original_context_length")
    older = settings.number("rope.scale_linear", 1.0)
    factor = settings.number("rope.scaling.factor", older) or 1.0
    return {"stretch": factor} if settings.get("rope.scaling.type") == "linear" or older != 1 else {}


def _heads(settings: Settings) -> int:
    heads = settings.get("attention.head_count")
    if isinstance(heads, list):
        raise settings.refusal("attention.head_count", heads, "Regard has as many heads in every layer")
    return settings.count("attention.head_count")


def _head_width(settings: Settings, width: int, heads: int) -> int:
    if width % heads:
        raise InputError(f"{settings.named}: {heads} heads do not divide a width of {width}")
    return width // heads


def _bias(tensors: Mapping[str, Entry]) -> bool | Literal["inputs"]:
    if "blk.0.attn_q.bias" not in tensors:
        return False
    return True if "blk.0.attn_output.bias" in tensors else "inputs"
