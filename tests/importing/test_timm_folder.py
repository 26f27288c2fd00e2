"""Checkpoints of timm: its names and its formulas, written anew in `seers`, give the same logits and gradients."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from seers import CLASSES, TimmResnet, TimmVit, agree_on_images, put_timm, seer, timm_seer

from regard.importing import ImportedClassifier, read_model
from regard.importing.vision.architectures import resnet_arguments, vit_arguments

ARGS: dict[str, Any] = {"embed_dim": 20, "depth": 2, "num_heads": 4, "mlp_ratio": 1.7, "patch_size": [4, 6]}
GAP = {"class_token": False, "global_pool": "avg", "fc_norm": False}
VITS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("vit_tiny_patch16_224", {}),
    "no bias": ("vit_base_patch16_224", {"qkv_bias": False}),
    "scaled": ("vit_small_patch32_384", {"init_values": 1e-5}),
    "distilled": ("deit_small_distilled_patch16_224", {"distilled": True}),
    "deit3": ("deit3_base_patch16_224", {"no_embed_class": True, "init_values": 1e-6}),
    "registers": ("vit_small_patch14_dinov2", {"reg_tokens": 3, "init_values": 1e-5}),
    "registers nowhere": (
        "vit_base_patch14_reg4_dinov2",
        {"reg_tokens": 4, "init_values": 1e-5, "no_embed_class": True},
    ),
    "mean": ("vit_medium_patch16_gap_240", GAP | {"qkv_bias": False, "init_values": 1e-6}),
    "mean beside a token": ("vit_base_patch16_224", {"global_pool": "avg", "fc_norm": False}),
    "mean beside registers": ("vit_huge_patch14_gap_224", GAP | {"reg_tokens": 2}),
    "no positions": ("vit_large_patch16_224", {"pos_embed": "none"}),
    "tanh": ("test_vit", {"act_layer": "gelu_tanh", "dynamic_img_size": True}),
}


def read(path: Path) -> ImportedClassifier:
    found = read_model(path)
    assert isinstance(found, ImportedClassifier)
    return found


@pytest.mark.parametrize("case", VITS)
def test_a_vision_transformer_of_timm(case: str, tmp_path: Path) -> None:
    """What the name of the architecture says need not be said again."""
    name, options = VITS[case]
    theirs = timm_seer(TimmVit, **options)
    said = {key: value for key, value in options.items() if (vit_arguments(name) or {}).get(key) != value}
    found = read(put_timm(tmp_path / "given", theirs, name, ARGS | said))
    agree_on_images(found, theirs)
    assert found.origin["family"] == name
    assert found.facts.classes == tuple(map(str, range(CLASSES)))


@pytest.mark.parametrize(("name", "block"), [("resnet18", "basic"), ("resnet50", "bottleneck")])
def test_a_resnet_of_timm(name: str, block: str, tmp_path: Path) -> None:
    theirs = timm_seer(TimmResnet, block=block)
    args = {"layers": [1, 2], "channels": [64, 128]}
    images = {"input_size": [3, 19, 19], "crop_mode": "center", "crop_pct": 0.95}
    agree_on_images(read(put_timm(tmp_path, theirs, name, args, **images)), theirs)


def test_a_vit_of_timm_is_that_of_transformers(tmp_path: Path) -> None:
    """The formula that the others are held against, held against a library."""
    theirs = seer("vit wide", layer_norm_eps=1e-6)
    held = theirs.state_dict()
    model = TimmVit(mlp_ratio=0.85)
    names = {"cls_token": "vit.embeddings.cls_token", "pos_embed": "vit.embeddings.position_embeddings"}
    ends = ("weight", "bias")
    names |= {f"patch_embed.proj.{end}": f"vit.embeddings.patch_embeddings.projection.{end}" for end in ends}
    names |= {f"norm.{end}": f"vit.layernorm.{end}" for end in ends} | {
        f"head.{end}": f"classifier.{end}" for end in ends
    }
    inner = {"norm1": "layernorm_before", "norm2": "layernorm_after", "attn.proj": "attention.o_proj"}
    inner |= {"mlp.fc1": "mlp.fc1", "mlp.fc2": "mlp.fc2"}
    for number in range(2):
        names |= {
            f"blocks.{number}.{ours}.{end}": f"vit.layers.{number}.{one}.{end}"
            for ours, one in inner.items()
            for end in ends
        }
    weights = {ours: held[one] for ours, one in names.items()}
    for number in range(2):
        for end in ends:
            parts = [held[f"vit.layers.{number}.attention.{one}_proj.{end}"] for one in "qkv"]
            weights[f"blocks.{number}.attn.qkv.{end}"] = torch.cat(parts)
    model.load_state_dict(weights)
    agree_on_images(read(put_timm(tmp_path, model, "vit_tiny_patch16_224", ARGS | {"mlp_ratio": 0.85})), theirs)


def test_names_are_those_of_the_config(tmp_path: Path) -> None:
    folder = put_timm(tmp_path, timm_seer(TimmVit), "vit_tiny_patch16_224", ARGS)
    table = json.loads((folder / "config.json").read_text())
    names = [f"n{number:08}" for number in range(CLASSES)]
    more = {"label_names": names, "label_descriptions": dict.fromkeys(names, "something"), "global_pool": "token"}
    (folder / "config.json").write_text(json.dumps(table | more))
    assert read(folder).facts.classes == tuple(names)
    table["pretrained_cfg"]["label_names"] = names[::-1]
    (folder / "config.json").write_text(json.dumps(table))
    assert read(folder).facts.classes == tuple(names[::-1])


def test_architectures_are_those_of_timm() -> None:
    """A few that differ in more than their size."""
    base = vit_arguments("vit_base_patch16_224")
    assert base == {"embed_dim": 768, "depth": 12, "num_heads": 12, "patch_size": 16}
    for name, size in {
        "tiny": (192, 12, 3),
        "small": (384, 12, 6),
        "large": (1024, 24, 16),
        "huge": (1280, 32, 16),
    }.items():
        found = vit_arguments(f"vit_{name}_patch14_224")
        assert found == dict(zip(("embed_dim", "depth", "num_heads"), size, strict=True)) | {"patch_size": 14}
    assert vit_arguments("vit_base_patch16_224_miil") == base | {"qkv_bias": False}
    assert vit_arguments("vit_base_patch16_gap_224") == base | {"num_heads": 16} | GAP
    assert (vit_arguments("deit_base_distilled_patch16_384") or {})["distilled"]
    assert vit_arguments("deit3_base_patch16_384") == base | {"no_embed_class": True, "init_values": 1e-6}
    for unknown in (
        "vit_base_patch16_clip_224",
        "vit_base_patch16_siglip_224",
        "vit_mini_patch16_224",
        "eva_large_patch14_196",
        "",
    ):
        assert vit_arguments(unknown) is None
    assert resnet_arguments("resnet101") == {"block": "bottleneck", "layers": [3, 4, 23, 3]}
    for unknown in ("resnet50d", "resnet10t", "wide_resnet50_2", "resnext50_32x4d", "seresnet50", "resnet51"):
        assert resnet_arguments(unknown) is None
