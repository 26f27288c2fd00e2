"""What timm's names of architectures stand for: the arguments that each gives to its Vision Transformer or ResNet."""

import re
from typing import Any

SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"embed_dim": 192, "depth": 12, "num_heads": 3},
    "small": {"embed_dim": 384, "depth": 12, "num_heads": 6},
    "medium": {"embed_dim": 512, "depth": 12, "num_heads": 8},
    "mediumd": {"embed_dim": 512, "depth": 20, "num_heads": 8},
    "betwixt": {"embed_dim": 640, "depth": 12, "num_heads": 10},
    "base": {"embed_dim": 768, "depth": 12, "num_heads": 12},
    "large": {"embed_dim": 1024, "depth": 24, "num_heads": 16},
    "huge": {"embed_dim": 1280, "depth": 32, "num_heads": 16},
    "giant": {"embed_dim": 1408, "depth": 40, "num_heads": 16, "mlp_ratio": 48 / 11},
    "gigantic": {"embed_dim": 1664, "depth": 48, "num_heads": 16, "mlp_ratio": 64 / 13},
}
GAP = {"class_token": False, "global_pool": "avg", "fc_norm": False}
FORMS: list[tuple[str, dict[str, Any]]] = [
    (r"vit_([a-z]+)_patch(\d{1,3})_\d{1,4}", {}),
    (r"vit_(base)_patch(\d{1,3})_\d{1,4}_miil", {"qkv_bias": False}),
    (r"vit_(medium|betwixt)_patch(\d{1,3})_gap_\d{1,4}", GAP | {"qkv_bias": False, "init_values": 1e-6}),
    (r"vit_(base)_patch(\d{1,3})_gap_\d{1,4}", GAP | {"num_heads": 16}),
    (r"vit_(huge|giant)_patch(\d{1,3})_gap_\d{1,4}", GAP),
    (r"vit_(small|base|large)_patch(\d{1,3})_dinov2", {"init_values": 1e-5}),
    (
        r"vit_(small|base|large)_patch(\d{1,3})_reg4_dinov2",
        {"init_values": 1e-5, "reg_tokens": 4, "no_embed_class": True},
    ),
    (r"deit_(tiny|small|base)_patch(\d{1,3})_\d{1,4}", {}),
    (r"deit_(tiny|small|base)_distilled_patch(\d{1,3})_\d{1,4}", {"distilled": True}),
    (
        r"deit3_(small|medium|base|large|huge)_patch(\d{1,3})_\d{1,4}",
        {"no_embed_class": True, "init_values": 1e-6},
    ),
]
SMALLEST = {"patch_size": 16, "embed_dim": 64, "depth": 6, "num_heads": 2, "mlp_ratio": 3.0}
DEPTHS: dict[str, tuple[str, list[int]]] = {
    "18": ("basic", [2, 2, 2, 2]),
    "34": ("basic", [3, 4, 6, 3]),
    "26": ("bottleneck", [2, 2, 2, 2]),
    "50": ("bottleneck", [3, 4, 6, 3]),
    "101": ("bottleneck", [3, 4, 23, 3]),
    "152": ("bottleneck", [3, 8, 36, 3]),
    "200": ("bottleneck", [3, 24, 36, 3]),
}
RESNET = re.compile(r"resnet(\d{2,3})")
KNOWN = "vit_base_patch16_224, deit_small_distilled_patch16_224, deit3_base_patch16_224, resnet50 and their like"


def vit_arguments(name: str) -> dict[str, Any] | None:
    """What a Vision Transformer of this name is made with, or nothing where no such is known."""
    for form, more in FORMS:
        found = re.fullmatch(form, name)
        if found and found[1] in SIZES:
            return SIZES[found[1]] | {"patch_size": int(found[2])} | more
    return dict(SMALLEST) if name == "test_vit" else None


def resnet_arguments(name: str) -> dict[str, Any] | None:
    """The same of a ResNet: the plain ones, with a stem of 7×7 and no further tricks."""
    found = RESNET.fullmatch(name)
    if found is None or found[1] not in DEPTHS:
        return None
    block, layers = DEPTHS[found[1]]
    return {"block": block, "layers": layers}
