"""Shapes of language models that are measured, with random weights."""

from typing import Any

from regard.model.assembly import Writer
from regard.model.build import build

SHAPES: dict[str, dict[str, Any]] = {
    "smollm2-135m": {
        "vocab_size": 49152,
        "width": 576,
        "layers": 30,
        "attention": {"kind": "multihead", "heads": 9, "kv_heads": 3, "bias": False},
        "positions": {"kind": "rotary"},
        "norm": {"kind": "rms"},
        "mlp": {"kind": "swiglu", "hidden": 1536},
    },
    "gpt2-small": {
        "vocab_size": 50257,
        "width": 768,
        "layers": 12,
        "attention": {"kind": "multihead", "heads": 12},
        "positions": {"kind": "learned", "limit": 1024},
        "norm": {"kind": "layer"},
        "mlp": {"kind": "gelu", "approximate": "tanh"},
    },
}


def model_of(shape: str) -> Writer:
    """A model of that shape with random weights."""
    sizes = dict(SHAPES[shape])
    whole = {key: sizes.pop(key) for key in ("vocab_size", "width")}
    model = build({"model": {"kind": "language_model", **whole, "decoder": {"kind": "transformer", **sizes}}})
    assert isinstance(model, Writer)
    return model.eval()
