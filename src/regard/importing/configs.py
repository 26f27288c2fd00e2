"""The config.json of each family as a design: every key is used, harmless, or refused by name."""

from collections.abc import Mapping
from typing import Any, Literal

from regard.errors import InputError
from regard.importing.design import Design
from regard.importing.harmless import HARMLESS, REFUSED, WHERE
from regard.importing.settings import Settings
from regard.recipe.errors import nearest

VISION = ("vit", "deit", "resnet")  # which are read in the room of that name
GELU = {"gelu_new": "tanh", "gelu_pytorch_tanh": "tanh", "gelu": "none"}
SCALED = "Regard knows rotary positions of all pairs: default, linear, llama3"


def read_config(table: Mapping[str, Any], named: str) -> Design:
    """The design that a config.json asks for; what Regard cannot express is refused in a sentence."""
    family = table.get("model_type")
    if not isinstance(family, str) or family not in FAMILIES:
        told = str(family)[:60]
        raise InputError(
            f"{named}: model_type: {told!r} is not among the families that can be imported"
            f"{nearest(told, [*FAMILIES, *VISION])}"
        )
    settings = Settings(table, named)
    _refuse(settings)
    design = FAMILIES[family](settings)
    settings.close(HARMLESS, WHERE)
    return design


def refuse_strange(settings: Settings) -> None:
    """What no family has, whatever it is for."""
    settings.must("quantization_config", why="its weights are rounded; import the model it was made from, or a GGUF")
    settings.must("auto_map", why="it brings code of its own, and none is ever run")
    settings.must("is_encoder_decoder", False)
    settings.must("add_cross_attention", False)
    settings.must("pruned_heads", {})


def _refuse(settings: Settings) -> None:
    """What no language model here has."""
    refuse_strange(settings)
    settings.must("is_decoder", True, False)
    for key in REFUSED:
        settings.must(key, False)
    kinds = settings.get("architectures")
    if kinds is not None:
        fine = isinstance(kinds, list) and len(kinds) == 1 and isinstance(kinds[0], str)
        if not fine or not kinds[0].endswith(("ForCausalLM", "LMHeadModel")):
            raise settings.refusal("architectures", kinds, "no language model: wanted one that ends in ForCausalLM")


def _gpt2(settings: Settings) -> Design:
    width, heads = settings.count("n_embd"), settings.count("n_head")
    settings.must("scale_attn_weights", True)
    settings.must("scale_attn_by_inverse_layer_idx", False)
    activation, hidden = settings.get("activation_function") or "gelu_new", settings.count("n_inner", 4 * width)
    if activation not in (*GELU, "relu"):
        raise settings.refusal("activation_function", activation, f"wanted one of {', '.join(GELU)}, relu")
    mlp = {"kind": "relu"} if activation == "relu" else {"kind": "gelu", "approximate": GELU[activation]}
    return Design(
        family="gpt2",
        vocab_size=settings.count("vocab_size"),
        width=width,
        layers=settings.count("n_layer"),
        heads=heads,
        kv_heads=heads,
        head_width=_head_width(settings, width, heads),
        hidden=hidden,
        context=settings.count("n_positions", 1024),
        eps=settings.number("layer_norm_epsilon", 1e-5),
        norm="layer",
        tied=settings.truth("tie_word_embeddings", True),
        mlp=mlp | {"hidden": hidden, "bias": True},
        bias=True,
        dropout=settings.number("resid_pdrop", 0.1),
        attention_dropout=settings.number("attn_pdrop", 0.1),
    )


def _llama(settings: Settings) -> Design:
    mlp = {"kind": "swiglu", "bias": settings.truth("mlp_bias", False)}
    return _rotary(settings, mlp, context=2048, bias=settings.truth("attention_bias", False))


def _mistral(settings: Settings) -> Design:
    window = settings.optional("sliding_window", 4096)
    return _rotary(settings, {"kind": "swiglu"}, kv_heads=8, context=131072, window=window)


def _qwen2(settings: Settings) -> Design:
    first, layers = settings.number("max_window_layers", 28.0), settings.count("num_hidden_layers")
    window = settings.optional("sliding_window", 4096)
    if not settings.truth("use_sliding_window", False) or first >= layers:
        window = None
    if window and first and settings.get("layer_types") is None:
        raise settings.refusal("max_window_layers", int(first), "Regard has one pattern for all layers")
    return _rotary(settings, {"kind": "swiglu"}, kv_heads=32, context=32768, window=window, bias="inputs")


def _mixtral(settings: Settings) -> Design:
    mlp = {
        "kind": "experts",
        "experts": settings.count("num_local_experts", 8),
        "active": settings.count("num_experts_per_tok", 2),
        "portions": "active",
    }
    window = settings.optional("sliding_window", None)
    return _rotary(settings, mlp, kv_heads=8, context=131072, window=window, eps=1e-5, base=1e6)


def _rotary(
    settings: Settings,
    mlp: dict[str, Any],
    *,
    context: int,
    kv_heads: int = 0,
    window: int | None = None,
    bias: bool | Literal["inputs"] = False,
    eps: float = 1e-6,
    base: float = 10000.0,
) -> Design:
    """What Llama and those after it share; what a config leaves out has the value that its family gives it."""
    width, heads, layers = map(settings.count, ("hidden_size", "num_attention_heads", "num_hidden_layers"))
    activation, hidden = settings.get("hidden_act") or "silu", settings.count("intermediate_size")
    if activation not in ("silu", "swish"):
        raise settings.refusal("hidden_act", activation, "wanted silu")
    return Design(
        family=str(settings.get("model_type")),
        vocab_size=settings.count("vocab_size"),
        width=width,
        layers=layers,
        heads=heads,
        kv_heads=settings.optional("num_key_value_heads", kv_heads or heads) or heads,  # null: as many as heads
        head_width=settings.count("head_dim", 0) or _head_width(settings, width, heads),
        hidden=hidden,
        context=settings.count("max_position_embeddings", context),
        eps=settings.number("rms_norm_eps", eps),
        norm="rms",
        tied=settings.truth("tie_word_embeddings", False),
        mlp=mlp | {"hidden": hidden},
        rotary=_turns(settings, base),
        window=_window(settings, layers, window),
        bias=bias,
        attention_dropout=settings.number("attention_dropout", 0.0),
    )


def _head_width(settings: Settings, width: int, heads: int) -> int:
    if width % heads:
        raise InputError(f"{settings.named}: {heads} heads do not divide a width of {width}")
    return width // heads


def _turns(settings: Settings, base: float) -> dict[str, Any]:
    """How fast pairs turn: said beside everything else by older configs, in a table of its own by newer ones."""
    settings.must("partial_rotary_factor", 1.0, 1, why=SCALED)
    found: dict[str, Any] = {"base": settings.number("rope_theta", base)}
    for key in ("rope_scaling", "rope_parameters"):
        table = settings.get(key)
        if table is None:
            continue
        if not isinstance(table, Mapping):
            raise settings.refusal(key, table, "wanted a table")
        inner = Settings(table, f"{settings.named}: {key}")
        inner.must("partial_rotary_factor", 1.0, 1, why=SCALED)
        found["base"] = inner.number("rope_theta", found["base"])
        found |= _stretch(inner)
        inner.close((), WHERE)
    return found


def _stretch(settings: Settings) -> dict[str, Any]:
    """Positions stretched over longer texts: all pairs alike, or, as in Llama 3.1, the slow ones."""
    kind = settings.get("rope_type") or settings.get("type") or "default"
    if kind == "default":
        return {}
    if kind not in ("linear", "llama3"):
        raise settings.refusal("rope_type", kind, SCALED)
    found: dict[str, Any] = {"stretch": settings.number("factor", 0.0)}
    if kind == "llama3":
        found["trained"] = settings.count("original_max_position_embeddings")
        found |= {"slow": settings.number("low_freq_factor", 0.0), "fast": settings.number("high_freq_factor", 0.0)}
    return found


def _window(settings: Settings, layers: int, width: int | None) -> int | None:
    """How far back is seen, if not to the beginning; layers that differ in that are refused."""
    kinds = settings.get("layer_types")
    if kinds is None:
        return width
    wanted = "sliding_attention" if width else "full_attention"
    if not isinstance(kinds, list) or len(kinds) != layers or any(kind != wanted for kind in kinds):
        raise settings.refusal("layer_types", kinds, f"wanted {wanted} in all {layers} layers")
    return width


FAMILIES = {"gpt2": _gpt2, "llama": _llama, "mistral": _mistral, "qwen2": _qwen2, "mixtral": _mixtral}
