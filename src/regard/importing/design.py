"""What a model of another maker is, in numbers: the same for every family and file, and the recipe that says so."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class Design:
    """A decoder alone. Without `rotary`, the options of such positions, they are learned, `context` of them."""

    family: str
    vocab_size: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    head_width: int
    hidden: int
    context: int
    eps: float
    norm: Literal["rms", "layer"]
    tied: bool
    mlp: Mapping[str, Any]
    rotary: Mapping[str, Any] | None = None
    window: int | None = None
    bias: bool | Literal["inputs"] = False
    dropout: float = 0.0
    attention_dropout: float = 0.0

    @property
    def experts(self) -> int:
        """How many MLPs a layer has to choose from; 0 where it has one."""
        return int(self.mlp.get("experts", 0))

    @property
    def mlp_bias(self) -> bool:
        """Whether the products of the MLP add a vector."""
        return bool(self.mlp.get("bias", False))

    def model(self) -> dict[str, Any]:
        """The [model] of a recipe."""
        attention = {
            "kind": "multihead",
            "heads": self.heads,
            "kv_heads": self.kv_heads,
            "head_width": self.head_width,
            "bias": self.bias,
            "dropout": self.attention_dropout,
        }
        learned = {"kind": "learned", "limit": self.context}
        decoder = {
            "kind": "transformer",
            "layers": self.layers,
            "attention": attention,
            "pattern": {"kind": "window", "width": self.window} if self.window else "causal",
            "positions": learned if self.rotary is None else {"kind": "rotary", **self.rotary},
            "norm": {"kind": self.norm, "eps": self.eps},
            "residual": "pre",
            "mlp": dict(self.mlp),
            "dropout": self.dropout,
        }
        return {
            "kind": "language_model",
            "vocab_size": self.vocab_size,
            "width": self.width,
            "tie_embeddings": "output" if self.tied else "none",
            "decoder": decoder,
        }
