"""What the config of an image model asks for and Regard cannot express is refused by name."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from seers import TimmResnet, TimmVit, put_seer, put_timm, timm_seer
from strangers import change
from transformers import ViTConfig

from regard.errors import InputError
from regard.importing import read_model
from regard.importing.vision.configs import read_vision_config
from regard.importing.vision.design import PatchesDesign
from regard.importing.vision.prepared import Prepared

WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "another family": ("vit", {"model_type": "swin"}, "model_type: 'swin' is not among.* vit, deit, resnet"),
    "no classifier": ("vit", {"architectures": ["ViTModel"]}, "architectures: .*wanted ViTForImageClassification"),
    "of another family": (
        "vit",
        {"architectures": ["DeiTForImageClassification"]},
        "architectures: .*no image classifier",
    ),
    "code": ("vit", {"auto_map": {"AutoModel": "x.Y"}}, "auto_map: .*code of its own"),
    "rounded": ("resnet", {"quantization_config": {"bits": 8}}, "quantization_config: .* rounded"),
    "an activation": ("vit", {"hidden_act": "quick_gelu"}, "hidden_act: 'quick_gelu': wanted one of"),
    "channels": ("vit", {"num_channels": 4}, "num_channels: 4: images have 1 channel here, or 3"),
    "a patch": ("vit", {"patch_size": 8}, "is 1×10×20, and its config asks for 1×5×20"),
    "a patch that divides nothing": ("vit", {"image_size": 22, "patch_size": 7}, "asks for images of 22×22"),
    "three sides": ("vit", {"image_size": [21, 21, 3]}, "image_size: "),
    "no side": ("vit", {"image_size": [0, 21]}, "image_size: "),
    "heads": ("vit", {"num_attention_heads": 3}, "num_attention_heads: 3: does not divide hidden_size 20"),
    "more layers": ("vit", {"num_hidden_layers": 3}, "encoder.layer.2.* is missing"),
    "many layers": ("vit", {"num_hidden_layers": 10**6}, "asks for 1,000,000 weights or more"),
    "fewer layers": ("vit", {"num_hidden_layers": 1}, "encoder.layer.1.* does not ask for"),
    "wider": ("vit", {"hidden_size": 40}, "and its config asks for"),
    "no bias": ("vit", {"qkv_bias": False}, "bias is a weight that its config does not ask for"),
    "no eps": ("vit", {"layer_norm_eps": 0}, "eps"),
    "unknown": ("vit", {"clever_trick": 1}, "clever_trick: 1: not known here.* HARMLESS"),
    "a teacher": (
        "deit",
        {"architectures": ["DeiTForImageClassificationWithTeacher"]},
        "cls_classifier.weight is missing",
    ),
    "another block": ("resnet", {"layer_type": "preactivation"}, "layer_type: 'preactivation': wanted basic"),
    "a stride": ("resnet", {"downsample_in_bottleneck": True}, "downsample_in_bottleneck: True"),
    "a first stride": ("resnet", {"downsample_in_first_stage": True}, "downsample_in_first_stage: True"),
    "leaky": ("resnet", {"hidden_act": "leaky_relu"}, "hidden_act: 'leaky_relu': wanted relu"),
    "widths": ("resnet", {"hidden_sizes": [5, 15]}, r"hidden_sizes: \[5, 15\]: wanted \[5, 10\]"),
    "stages": ("resnet", {"depths": [2, 1, 1]}, r"hidden_sizes: .*wanted \[5, 10, 20\]"),
    "many blocks": ("resnet", {"depths": [10**6, 1]}, "asks for 1,000,001 weights or more"),
    "no blocks": ("resnet", {"depths": []}, r"depths: \[\]: wanted"),
    "many stages": ("resnet", {"depths": [1] * 65}, "depths: .*wanted up to 64"),
    "no labels": ("vit", {"id2label": None, "num_labels": 2**20}, "num_labels: 1048576: more than 65,536 classes"),
}


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("given")
    made = {family: put_seer(place / family, family) for family in ("vit", "deit", "resnet")}
    made["timm"] = put_timm(place / "timm", timm_seer(TimmVit), "vit_tiny_patch16_224", ARGS)
    images = {"input_size": [3, 19, 19], "crop_mode": "center"}
    kept = {"layers": [1, 2], "channels": [64, 128]}
    made["timm resnet"] = put_timm(place / "timm resnet", timm_seer(TimmResnet), "resnet18", kept, **images)
    return made


def refused(folder: Path, table: dict[str, Any], said: str) -> None:
    path = folder / "config.json"
    kept = path.read_text()
    try:
        path.write_text(json.dumps(table))
        with pytest.raises(InputError, match=said) as raised:
            read_model(folder)
        assert len(str(raised.value)) < 500
    finally:
        path.write_text(kept)


def test_what_a_config_leaves_out_is_what_transformers_takes_and_what_it_says_is_kept() -> None:
    prepared = Prepared((224, 224), "squash", (0.5,) * 3, (0.5,) * 3)
    plain, _ = read_vision_config({"model_type": "vit"}, prepared, "config.json")
    theirs = ViTConfig()
    assert isinstance(plain, PatchesDesign)
    assert (plain.eps, plain.dropout, plain.attention_dropout) == (theirs.layer_norm_eps, 0.0, 0.0)
    assert (plain.width, plain.layers, plain.heads) == (theirs.hidden_size, theirs.num_hidden_layers, 12)
    assert (plain.hidden, plain.patch, plain.shape) == (theirs.intermediate_size, (16, 16), (224, 224))
    said = {"model_type": "vit", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.2}
    other, _ = read_vision_config(said | {"hidden_act": "gelu_new"}, prepared, "config.json")
    assert isinstance(other, PatchesDesign)
    assert (other.dropout, other.attention_dropout) == (0.1, 0.2)
    assert other.mlp == {"kind": "gelu", "approximate": "tanh"}


@pytest.mark.parametrize("case", WRONG)
def test_it_is_refused_by_name(case: str, given: dict[str, Path]) -> None:
    family, changed, said = WRONG[case]
    refused(given[family], json.loads((given[family] / "config.json").read_text()) | changed, said)


ARGS: dict[str, Any] = {"embed_dim": 20, "depth": 2, "num_heads": 4, "mlp_ratio": 1.7, "patch_size": [4, 6]}
TIMM: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "an architecture": (
        "timm",
        "",
        {"architecture": "swin_tiny_patch4_window7_224"},
        "architecture: 'swin_tiny.*not among",
    ),
    "clip": ("timm", "", {"architecture": "vit_base_patch16_clip_224"}, "architecture: 'vit_base_patch16_clip"),
    "no architecture": ("timm", "", {"architecture": 7}, "architecture: 7: not among"),
    "no head": ("timm", "", {"num_classes": 0}, "num_classes: 0: no classifier"),
    "more classes": ("timm", "", {"num_classes": 6}, "head.weight is 5×20, and its config asks for 6×20"),
    "many classes": ("timm", "", {"num_classes": 2**20}, "more than 65,536 classes"),
    "names": ("timm", "", {"label_names": ["a"]}, "label_names: .*1 names for 5 classes"),
    "no table": ("timm", "", {"pretrained_cfg": None}, "pretrained_cfg: missing: wanted a table"),
    "another pooling": ("timm", "", {"global_pool": "map"}, "global_pool: 'map': wanted token or avg"),
    "a mean before the norm": ("timm", "", {"global_pool": "avg"}, "fc_norm: True: the mean is taken before"),
    "unknown": ("timm", "", {"clever": 1}, "clever: 1: not known here"),
    "norms of queries": ("timm", "model_args", {"qk_norm": True}, "qk_norm: True"),
    "a norm first": ("timm", "model_args", {"pre_norm": True}, "pre_norm: True"),
    "an activation": ("timm", "model_args", {"act_layer": "quick_gelu"}, "act_layer: 'quick_gelu': wanted one of"),
    "another norm": ("timm", "model_args", {"norm_layer": "rmsnorm"}, "norm_layer: 'rmsnorm'"),
    "rotary": ("timm", "model_args", {"pos_embed": "rope"}, "pos_embed: 'rope': wanted learn or none"),
    "attention": ("timm", "model_args", {"attn_layer": "diff"}, "attn_layer: 'diff': not known here"),
    "said by the name": ("timm", "model_args", {"distilled": True}, "distilled: True: the name of the architecture"),
    "another size": ("timm", "model_args", {"img_size": [24, 30]}, r"img_size: \[24, 30\]: images are made ready at"),
    "no token": (
        "timm",
        "model_args",
        {"class_token": False},
        "global_pool: 'token': wanted token or avg|cls_token is",
    ),
    "registers": ("timm", "model_args", {"reg_tokens": 2}, "reg_token is missing|pos_embed is"),
    "scales": ("timm", "model_args", {"init_values": 0.1}, "ls1.gamma is missing"),
    "no hidden": ("timm", "model_args", {"mlp_ratio": 0.01}, "mlp_ratio: 0.01: leaves no numbers"),
    "channels": ("timm", "model_args", {"in_chans": 1}, "input_size: .*the model has 1 channels"),
    "heads": ("timm", "model_args", {"num_heads": 3}, "num_heads: 3: does not divide embed_dim 20"),
    "a border": ("timm", "pretrained_cfg", {"crop_mode": "border"}, "crop_mode: 'border': wanted center or squash"),
    "no square": ("timm", "pretrained_cfg", {"crop_mode": "center"}, "input_size: .*no square"),
    "by chance": ("timm", "pretrained_cfg", {"interpolation": "random"}, "interpolation: 'random'"),
    "a share": ("timm", "pretrained_cfg", {"crop_pct": 1.2}, "crop_pct: 1.2: wanted a share"),
    "sizes": ("timm", "pretrained_cfg", {"input_size": [3, 12]}, "input_size: .*wanted channels, rows and columns"),
    "an offset": ("timm", "pretrained_cfg", {"label_offset": 1}, "label_offset: 1"),
    "of no pixels": ("timm", "pretrained_cfg", {"std": [0, 1, 1]}, "std: .*wanted deviations"),
    "unknown of images": ("timm", "pretrained_cfg", {"trick": 1}, "pretrained_cfg: trick: 1: not known here"),
    "a deep stem": ("timm resnet", "model_args", {"stem_type": "deep"}, "stem_type: 'deep': Regard has plain ResNets"),
    "groups": ("timm resnet", "model_args", {"cardinality": 32}, "cardinality: 32"),
    "wide": ("timm resnet", "model_args", {"base_width": 128}, "base_width: 128"),
    "other channels": (
        "timm resnet",
        "model_args",
        {"channels": [32, 64]},
        r"channels: \[32, 64\]: wanted 64 for the first",
    ),
    "attention in blocks": (
        "timm resnet",
        "model_args",
        {"block_args": {"attn_layer": "se"}},
        "block_args: .*not known",
    ),
    "resnet 50": ("timm resnet", "", {"architecture": "resnet50"}, "layer1.0.conv1.weight is 64×64×3×3"),
    "resnet 50d": ("timm resnet", "", {"architecture": "resnet50d"}, "architecture: 'resnet50d': not among"),
    "catavgmax": ("timm resnet", "", {"global_pool": "catavgmax"}, "global_pool: 'catavgmax': wanted avg"),
}


@pytest.mark.parametrize("case", TIMM)
def test_timm_is_refused_by_name(case: str, given: dict[str, Path]) -> None:
    folder, inside, changed, said = TIMM[case]
    table = json.loads((given[folder] / "config.json").read_text())
    table = table | {inside: table[inside] | changed} if inside else table | changed
    refused(given[folder], table, said)


def test_weights_that_are_no_weights_are_refused(tmp_path: Path) -> None:
    folder = put_seer(tmp_path, "resnet")
    held = load_file(folder / "model.safetensors")
    name = "resnet.embedder.embedder.normalization.running_var"
    for spoilt, said in (
        (held[name] - 9, "variances below zero"),
        (held[name] * float("nan"), "no number"),
        (held[name].int(), "wanted weights in float"),
    ):
        save_file(held | {name: spoilt}, folder / "model.safetensors")
        with pytest.raises(InputError, match=said):
            read_model(folder)
    save_file(held | {"resnet.more": torch.ones(2)}, folder / "model.safetensors")
    with pytest.raises(InputError, match=r"resnet\.more is a weight that its config does not ask for"):
        read_model(folder)


def test_pickles_are_never_read_for_images_either(tmp_path: Path) -> None:
    folder = put_seer(tmp_path)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(InputError, match="pickled, which could run code"):
        read_model(folder)
    change(folder, architectures=None)
    with pytest.raises(InputError, match="pickled"):
        read_model(folder)
