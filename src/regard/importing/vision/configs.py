"""The config.json of each family of `transformers` as a design: every key is used, harmless, or refused by name."""

from collections.abc import Mapping
from typing import Any, Literal

from regard.importing.configs import GELU, refuse_strange
from regard.importing.harmless import HARMLESS, HARMLESS_VISION, WHERE
from regard.importing.settings import Settings
from regard.importing.vision.design import PatchesDesign, ResnetDesign, Token, VisionDesign, stage_widths
from regard.importing.vision.labels import class_names, numbered_names
from regard.importing.vision.prepared import Prepared
from regard.model.vision.blocks import Convolutions
from regard.tasks.images.options import CHANNELS

TOKENS: tuple[tuple[Token, int], ...] = (("cls", 1), ("second", 1))
TAUGHT = "DeiTForImageClassificationWithTeacher"
HEADS = {
    "vit": ("ViTForImageClassification",),
    "deit": ("DeiTForImageClassification", TAUGHT),
    "resnet": ("ResNetForImageClassification",),
}


def read_vision_config(
    table: Mapping[str, Any], prepared: Prepared, named: str
) -> tuple[VisionDesign, tuple[str, ...]]:
    """The design that a config.json asks for, and the names of its classes."""
    settings, family = Settings(table, named), str(table["model_type"])
    refuse_strange(settings)
    kinds = settings.get("architectures")
    if kinds is not None and (not isinstance(kinds, list) or len(kinds) != 1 or kinds[0] not in HEADS[family]):
        raise settings.refusal("architectures", kinds, f"no image classifier: wanted {' or '.join(HEADS[family])}")
    names = settings.get("id2label")
    if names is None:
        classes = numbered_names(settings, "num_labels", settings.count("num_labels", 2), "LABEL_")
    else:
        classes = class_names(settings, "id2label", names, None)
    channels = settings.count("num_channels", 3)
    if channels not in CHANNELS:
        raise settings.refusal("num_channels", channels, "images have 1 channel here, or 3")
    if family == "resnet":
        design: VisionDesign = _resnet(settings, prepared, channels, len(classes))
    else:
        design = _patches(settings, channels, len(classes), taught=kinds == [TAUGHT])
    settings.close(HARMLESS | HARMLESS_VISION, WHERE)
    return design, classes


def _patches(settings: Settings, channels: int, classes: int, *, taught: bool) -> PatchesDesign:
    """ViT, and DeiT, whose second token is read where it had a teacher."""
    family = str(settings.get("model_type"))
    width, heads = settings.count("hidden_size", 768), settings.count("num_attention_heads", 12)
    head_width = settings.count("head_dim", 0) or width // heads
    if not settings.get("head_dim") and width % heads:
        raise settings.refusal("num_attention_heads", heads, f"does not divide hidden_size {width}")
    tokens = 2 if family == "deit" else 1
    return PatchesDesign(
        family=family,
        classes=classes,
        channels=channels,
        shape=settings.pair("image_size", 224),
        patch=settings.pair("patch_size", 16),
        width=width,
        layers=settings.count("num_hidden_layers", 12),
        heads=heads,
        head_width=head_width,
        hidden=settings.count("intermediate_size", 3072),
        eps=settings.number("layer_norm_eps", 1e-12),
        mlp=activation(settings, "hidden_act", GELU),
        tokens=TOKENS[:tokens],
        pooling="distilled" if taught else "cls",
        placed=tokens,
        qkv_bias=settings.truth("qkv_bias", True),
        dropout=settings.number("hidden_dropout_prob", 0.0),
        attention_dropout=settings.number("attention_probs_dropout_prob", 0.0),
    )


def activation(settings: Settings, key: str, gelu: Mapping[str, str]) -> dict[str, Any]:
    """The MLP with the activation that is asked for."""
    word = settings.get(key) or "gelu"
    if word == "relu":
        return {"kind": "relu"}
    if not isinstance(word, str) or word not in gelu:
        raise settings.refusal(key, word, f"wanted one of {', '.join(gelu)}, relu")
    return {"kind": "gelu", "approximate": gelu[word]}


def _resnet(settings: Settings, prepared: Prepared, channels: int, classes: int) -> ResnetDesign:
    """ResNet, each stage twice as wide as the one before it. Images have the size that they are made ready in."""
<<<<<<< HEAD
    width, asked = settings.count("embedding_size", 64), settings.get("layer_type") or "bottleneck"
    if asked not in ("basic", "bottleneck"):
        raise settings.refusal("layer_type", asked, "wanted basic or bottleneck")
    block: Literal["basic", "bottleneck"] = "basic" if asked == "basic" else "bottleneck"
=======
    width, said = settings.count("embedding_size", 64), settings.get("layer_type") or "bottleneck"
    if said not in ("basic", "bottleneck"):
        raise settings.refusal("layer_type", said, "wanted basic or bottleneck")
    block: Convolutions = "basic" if said == "basic" else "bottleneck"
>>>>>>> d-import
    settings.must("hidden_act", "relu", why="wanted relu")
    settings.must("downsample_in_first_stage", False)
    settings.must("downsample_in_bottleneck", False, why="Regard's bottleneck takes its stride in the 3×3 convolution")
    depths = [3, 4, 6, 3] if settings.get("depths") is None else settings.counts("depths")
    widths = [256, 512, 1024, 2048] if settings.get("hidden_sizes") is None else settings.counts("hidden_sizes")
    wanted = stage_widths(width, block, len(depths))
    if widths != wanted:
        raise settings.refusal(
            "hidden_sizes", widths, f"wanted {wanted} after embedding_size {width}: doubled each time"
        )
    return ResnetDesign(
        family="resnet",
        classes=classes,
        channels=channels,
        shape=prepared.shape,
        width=width,
        depths=depths,
        block=block,
    )
