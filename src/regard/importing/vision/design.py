"""What an image classifier of another maker is, in numbers: the same for every maker, and the recipe that says so."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from regard.model.vision.blocks import NARROW, Convolutions
from regard.model.vision.body import Shape
from regard.model.vision.patches import READ

Token = Literal["cls", "second", "registers"]


@dataclass(frozen=True, kw_only=True)
class PatchesDesign:
    """A Vision Transformer. `tokens` stand before the patches, so many of each; `placed` of them have positions."""

    family: str
    classes: int
    channels: int
    shape: Shape
    patch: Shape
    width: int
    layers: int
    heads: int
    head_width: int
    hidden: int
    eps: float
    mlp: Mapping[str, Any]
    tokens: tuple[tuple[Token, int], ...]
    pooling: Literal["cls", "mean", "distilled"]
    placed: int
    positions: bool = True
    qkv_bias: bool = True
    layer_scale: float = 0.0
    dropout: float = 0.0
    attention_dropout: float = 0.0

    @property
    def read(self) -> int:
        """Tokens that the head reads."""
        return READ.get(self.pooling, 0)

    @property
    def extra(self) -> int:
        """Tokens before the patches."""
        return sum(count for _, count in self.tokens)

    @property
    def patches(self) -> int:
        """How many an image is cut into."""
        return (self.shape[0] // self.patch[0]) * (self.shape[1] // self.patch[1])

    @property
    def least(self) -> int:
        """It has more weights than this."""
        return self.layers

    def model(self) -> dict[str, Any]:
        """The [model] of a recipe."""
        encoder = {
            "kind": "transformer",
            "layers": self.layers,
            "attention": {
                "kind": "multihead",
                "heads": self.heads,
                "head_width": self.head_width,
                "dropout": self.attention_dropout,
            },
            "positions": "learned" if self.positions else "none",
            "norm": {"kind": "layer", "eps": self.eps},
            "residual": "pre",
            "mlp": {**self.mlp, "hidden": self.hidden},
            "dropout": self.dropout,
            "layer_scale": self.layer_scale,
        }
        body = {
            "kind": "patches",
            "width": self.width,
            "patch": side_or_sides(self.patch),
            "pooling": self.pooling,
            "registers": self.extra - self.read,
            "encoder": encoder,
        }
        return _classifier(self.classes, self.channels, self.shape, body)


@dataclass(frozen=True, kw_only=True)
class ResnetDesign:
    """A residual network with a large stem, of `depths` blocks a stage."""

    family: str
    classes: int
    channels: int
    shape: Shape
    width: int
    depths: list[int]
    block: Convolutions

    @property
    def widths(self) -> list[int]:
        """Channels after each stage."""
        return stage_widths(self.width, self.block, len(self.depths))

    @property
    def least(self) -> int:
        """It has more weights than this."""
        return sum(self.depths)

    def model(self) -> dict[str, Any]:
        """The [model] of a recipe."""
        body = {
            "kind": "resnet",
            "width": self.width,
            "stages": len(self.depths),
            "blocks": self.depths,
            "block": self.block,
            "stem": "large",
        }
        return _classifier(self.classes, self.channels, self.shape, body)


VisionDesign = PatchesDesign | ResnetDesign


def stage_widths(width: int, block: Convolutions, stages: int) -> list[int]:
    """Each stage has twice the channels of the one before it."""
    return [width * (1 if block == "basic" else NARROW) * 2**stage for stage in range(stages)]


def side_or_sides(shape: Shape) -> int | list[int]:
    """As a recipe says it."""
    return shape[0] if shape[0] == shape[1] else list(shape)


def _classifier(classes: int, channels: int, shape: Shape, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "image_classifier",
        "classes": classes,
        "channels": channels,
        "size": side_or_sides(shape),
        "body": body,
    }
