"""Small image classifiers of other makers with random weights, and the folders that their libraries would write."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from safetensors.torch import save_file
from strangers import shaken
from torch import Tensor, nn
from transformers import (
    ConvNextImageProcessorPil,
    DeiTConfig,
    DeiTForImageClassification,
    DeiTForImageClassificationWithTeacher,
    DeiTImageProcessorPil,
    ResNetConfig,
    ResNetForImageClassification,
    ViTConfig,
    ViTForImageClassification,
    ViTImageProcessorPil,
)

from regard.importing import ImportedClassifier
from regard.model.assembly import ImageClassifier
from regard.model.build import open_recipe
from regard.model.weights import fitted, load

CLASSES = 5
PATCHES = {
    "hidden_size": 20,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 17,
    "layer_norm_eps": 1e-3,
    "num_labels": CLASSES,
}
WIDE = PATCHES | {"image_size": [12, 30], "patch_size": [4, 6]}
SQUARE = PATCHES | {"image_size": 21, "patch_size": 7}
TALL = PATCHES | {"image_size": [9, 5], "patch_size": [3, 1]}
STAGES = {"embedding_size": 5, "depths": [2, 1], "num_labels": CLASSES}
BASIC = STAGES | {"layer_type": "basic", "hidden_sizes": [5, 10]}
BOTTLENECK = STAGES | {"layer_type": "bottleneck", "hidden_sizes": [20, 40]}
SIZED = {"size": {"height": 12, "width": 30}}
FAMILIES: dict[str, tuple[type[nn.Module], Any, Any]] = {
    "vit": (ViTForImageClassification, ViTConfig(**SQUARE), ViTImageProcessorPil(size=21)),
    "vit wide": (ViTForImageClassification, ViTConfig(**WIDE), ViTImageProcessorPil(**SIZED)),
    "vit tall, grey, tanh, no bias": (
        ViTForImageClassification,
        ViTConfig(**TALL, num_channels=1, hidden_act="gelu_pytorch_tanh", qkv_bias=False),
        ViTImageProcessorPil(size={"height": 9, "width": 5}, image_mean=[0.3], image_std=[0.2]),
    ),
    "vit relu, own heads": (
        ViTForImageClassification,
        ViTConfig(**SQUARE, hidden_act="relu", head_dim=3),
        ViTImageProcessorPil(size=21),
    ),
    "deit": (DeiTForImageClassification, DeiTConfig(**SQUARE), DeiTImageProcessorPil(size=24, crop_size=21)),
    "deit taught": (
        DeiTForImageClassificationWithTeacher,
        DeiTConfig(**WIDE),
        DeiTImageProcessorPil(**SIZED, do_center_crop=False),
    ),
    "resnet": (ResNetForImageClassification, ResNetConfig(**BASIC), ConvNextImageProcessorPil(size=35)),
    "resnet bottleneck, grey": (
        ResNetForImageClassification,
        ResNetConfig(**BOTTLENECK, num_channels=1),
        ConvNextImageProcessorPil(size=17, crop_pct=0.9, image_mean=0.4, image_std=0.3),
    ),
}


def seer(family: str, **changed: Any) -> nn.Module:
    """A model whose statistics, too, are none that hide a mistake."""
    kind, config, _ = FAMILIES[family]
    model = shaken(kind, type(config)(**(config.to_dict() | changed)))
    with torch.no_grad():
        for name, buffer in model.named_buffers():
            if buffer.is_floating_point():
                buffer.copy_(torch.rand_like(buffer) + 0.5 * name.endswith("running_var"))
    return model


def put_seer(folder: Path, family: str = "vit", model: nn.Module | None = None, **options: Any) -> Path:
    """The folder of a model, as `save_pretrained` and a hub would have it."""
    (model or seer(family)).save_pretrained(folder, **options)
    FAMILIES[family][2].save_pretrained(folder)
    return folder


class TimmVit(nn.Module):
    """timm's Vision Transformer: its names and its formula, written anew."""

    def __init__(self, **given: Any) -> None:
        super().__init__()
        args = {"embed_dim": 20, "depth": 2, "num_heads": 4, "mlp_ratio": 1.7, "patch_size": [4, 6], "in_chans": 3}
        self.args = args = args | {"img_size": [12, 30]} | given
        width, self.heads = args["embed_dim"], args["num_heads"]
        patches = (args["img_size"][0] // args["patch_size"][0]) * (args["img_size"][1] // args["patch_size"][1])
        self.front = nn.ParameterDict()
        for name, count in self.tokens().items():
            self.register_parameter(name, nn.Parameter(torch.randn(1, count, width)))
        placed = 0 if args.get("no_embed_class") else sum(self.tokens().values())
        if args.get("pos_embed") != "none":
            self.pos_embed = nn.Parameter(torch.randn(1, patches + placed, width))
        self.patch_embed = nn.Module()
        self.patch_embed.proj = nn.Conv2d(args["in_chans"], width, args["patch_size"], args["patch_size"])
        self.blocks = nn.ModuleList(self.block(width) for _ in range(args["depth"]))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, CLASSES)
        if args.get("distilled"):
            self.head_dist = nn.Linear(width, CLASSES)

    def tokens(self) -> dict[str, int]:
        found = {
            "cls_token": int(self.args.get("class_token", True)),
            "dist_token": int(self.args.get("distilled", False)),
        }
        return {name: count for name, count in (found | {"reg_token": self.args.get("reg_tokens", 0)}).items() if count}

    def block(self, width: int) -> nn.Module:
        made, hidden = nn.Module(), int(width * self.args["mlp_ratio"])
        made.norm1, made.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        made.attn, made.mlp = nn.Module(), nn.Module()
        made.attn.qkv = nn.Linear(width, 3 * width, bias=self.args.get("qkv_bias", True))
        made.attn.proj = nn.Linear(width, width)
        made.mlp.fc1, made.mlp.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)
        if self.args.get("init_values"):
            for name in ("ls1", "ls2"):
                scale = nn.Module()
                scale.gamma = nn.Parameter(torch.randn(width))
                made.add_module(name, scale)
        return made

    def attend(self, block: nn.Module, x: Tensor) -> Tensor:
        q, k, v = block.attn.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        return block.attn.proj((weights @ v).transpose(1, 2).flatten(2))

    def forward(self, pixels: Tensor) -> Tensor:
        x = self.patch_embed.proj(pixels).flatten(2).mT
        places = self.pos_embed if self.args.get("pos_embed") != "none" else 0.0
        x = x + places if self.args.get("no_embed_class") else x
        front = [getattr(self, name).expand(len(x), -1, -1) for name in self.tokens()]
        x = torch.cat([*front, x], 1)
        x = x if self.args.get("no_embed_class") else x + places
        approximate = "tanh" if self.args.get("act_layer") == "gelu_tanh" else "none"
        for block in self.blocks:
            one, two = (block.ls1.gamma, block.ls2.gamma) if self.args.get("init_values") else (1.0, 1.0)
            x = x + one * self.attend(block, block.norm1(x))
            x = x + two * block.mlp.fc2(F.gelu(block.mlp.fc1(block.norm2(x)), approximate=approximate))
        x = self.norm(x)
        if self.args.get("global_pool") == "avg":
            return self.head(x[:, sum(self.tokens().values()) :].mean(1))
        return (self.head(x[:, 0]) + self.head_dist(x[:, 1])) / 2 if self.args.get("distilled") else self.head(x[:, 0])


class TimmResnet(nn.Module):
    """timm's ResNet: its names and its formula, written anew."""

    def __init__(self, block: str = "basic", layers: tuple[int, ...] = (1, 2), in_chans: int = 3) -> None:
        super().__init__()
        self.layers, before = layers, 64
        self.conv1, self.bn1 = nn.Conv2d(in_chans, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        for stage, depth in enumerate(layers):
            planes = 64 * 2**stage
            after, made = planes * (1 if block == "basic" else 4), nn.ModuleList()
            for number in range(depth):
                made.append(self.block(block, before, planes, after, 2 if stage and not number else 1))
                before = after
            self.add_module(f"layer{stage + 1}", made)
        self.fc = nn.Linear(before, CLASSES)

    def block(self, kind: str, before: int, planes: int, after: int, stride: int) -> nn.Module:
        made = nn.Module()
        basic = [(before, planes, 3, stride), (planes, planes, 3, 1)]
        narrow = [(before, planes, 1, 1), (planes, planes, 3, stride), (planes, after, 1, 1)]
        made.count = len(basic if kind == "basic" else narrow)
        for number, (width, wide, side, step) in enumerate(basic if kind == "basic" else narrow, 1):
            made.add_module(f"conv{number}", nn.Conv2d(width, wide, side, step, side // 2, bias=False))
            made.add_module(f"bn{number}", nn.BatchNorm2d(wide))
        if stride != 1 or before != after:
            around = nn.Conv2d(before, after, 1, stride, bias=False)
            made.downsample = nn.Sequential(around, nn.BatchNorm2d(after))
        return made

    def forward(self, pixels: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(pixels))), 3, 2, 1)
        for stage in range(len(self.layers)):
            for block in getattr(self, f"layer{stage + 1}"):
                inner = x
                for number in range(1, block.count + 1):
                    inner = getattr(block, f"bn{number}")(getattr(block, f"conv{number}")(inner))
                    inner = F.relu(inner) if number < block.count else inner
                x = F.relu(inner + (block.downsample(x) if "downsample" in dict(block.named_children()) else x))
        return self.fc(x.mean((2, 3)))


def timm_seer(kind: type[nn.Module], **args: Any) -> nn.Module:
    torch.manual_seed(1)
    model = kind(**args).eval()
    with torch.no_grad():
        for name, tensor in model.state_dict(keep_vars=True).items():
            if tensor.is_floating_point():
                tensor.add_(0.2 * torch.randn_like(tensor)).abs_() if "running_var" in name else tensor.add_(
                    0.1 * torch.randn_like(tensor)
                )
    return model


PRETRAINED = {
    "tag": "augreg_in1k",
    "custom_load": False,
    "input_size": [3, 12, 30],
    "fixed_input_size": True,
    "interpolation": "bicubic",
    "crop_pct": 0.9,
    "crop_mode": "squash",
    "mean": [0.5, 0.5, 0.5],
    "std": [0.5, 0.4, 0.6],
    "num_classes": 1000,
    "pool_size": None,
    "first_conv": "patch_embed.proj",
    "classifier": "head",
    "license": "apache-2.0",
}


def put_timm(folder: Path, model: nn.Module, architecture: str, args: dict[str, Any], **changed: Any) -> Path:
    """The folder of a model, as timm writes it for a hub; `changed` is said of images."""
    folder.mkdir(parents=True, exist_ok=True)
    table = {"architecture": architecture, "num_classes": CLASSES, "num_features": 20, "model_args": args}
    table["pretrained_cfg"] = PRETRAINED | changed
    (folder / "config.json").write_text(json.dumps(table))
    save_file(model.state_dict(), folder / "model.safetensors")
    return folder


def seen(found: ImportedClassifier) -> ImageClassifier:
    """Regard's own model with what was imported."""
    shapes = {name: list(tensor.shape) for name, tensor in found.weights.items()}
    model = load(fitted(open_recipe(found.recipe).model, shapes), found.weights).eval()
    assert isinstance(model, ImageClassifier)
    return model


def agree_on_images(found: ImportedClassifier, theirs: nn.Module, tolerance: float = 1e-4) -> None:
    """The same logits of the same pixels, and the same gradients with respect to them."""
    pixels = torch.randn(3, found.facts.channels, *found.facts.shape, generator=torch.Generator().manual_seed(3))
    results = []
    for model in (seen(found), theirs):
        given = pixels.clone().requires_grad_()
        logits = model(given)
        logits = logits if isinstance(logits, Tensor) else logits.logits
        logits.square().sum().backward()
        results.append((logits.detach(), given.grad))
    (ours, slopes), (wanted, wanted_slopes) = results
    assert wanted.std() > 0.05
    torch.testing.assert_close(ours, wanted, rtol=tolerance, atol=tolerance)
    size = float(wanted_slopes.abs().max())
    torch.testing.assert_close(slopes / size, wanted_slopes / size, rtol=tolerance, atol=tolerance)


def photograph(rows: int, columns: int, channels: int = 3, seed: int = 5) -> NDArray[np.uint8]:
    """Something with edges, slopes and noise."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[:rows, :columns]
    waves = [127 + 90 * np.sin(x / (3 + one) + y / (5 - one)) + 40 * ((x // 7 + y // 5) % 2) for one in range(channels)]
    noisy = np.stack(waves, -1) + random.normal(0, 12, (rows, columns, channels))
    return np.clip(noisy, 0, 255).astype(np.uint8)
