"""Image models that learn and classify: Regard's, Hugging Face's ViT, and a residual network in plain torch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.allocator import keep_memory
from regard.decoding.compiled.images import lend
from regard.decoding.compiled.machine_code import MACHINE_CODE
from regard.model.build import build
from regard.model.quantize import quantize
from regard.model.vision.fold import folded

Work = Callable[[], int]
STEPS, BATCHES = 2, 4  # of a turn: of training, of classifying


@dataclass(frozen=True)
class VitShape:
    """A Vision Transformer and its batch; without more words ViT-tiny/16."""

    size: int = 224
    patch: int = 16
    layers: int = 12
    heads: int = 3
    width: int = 192
    classes: int = 1000
    batch: int = 16


@dataclass(frozen=True)
class ResnetShape:
    """A residual network of basic blocks and its batch; without more words ResNet-20 for CIFAR."""

    size: int = 32
    width: int = 16
    blocks: int = 3
    stages: int = 3
    classes: int = 10
    batch: int = 128


Shape = VitShape | ResnetShape


def prepare_regard(shape: Shape, learning: bool, int8: bool = False) -> Work:
    """Regard's, with memory kept as its commands keep it; in use, norms are folded into convolutions and layers
    are machine code."""
    keep_memory()
    model = build({"model": _recipe(shape)})
    if not learning:
        model = folded(model.eval())
    if int8:
        quantize(model)
    if not learning:
        MACHINE_CODE.make()
        lend(model)
    return _work(model, model, shape, learning)


def prepare_huggingface(shape: VitShape, learning: bool, keeping: bool = False) -> Work:
    """Hugging Face's ViT as it is, or with memory kept between steps as Regard does."""
    if keeping:
        keep_memory()
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=4 * shape.width,
        image_size=shape.size,
        patch_size=shape.patch,
        num_labels=shape.classes,  # type: ignore[call-arg]
    )
    model: Any = ViTForImageClassification(config)
    return _work(model, lambda pixels: model(pixels).logits, shape, learning)


def prepare_plain_resnet(shape: ResnetShape, learning: bool, keeping: bool = False) -> Work:
    """The same residual network as one would write it in torch."""
    if keeping:
        keep_memory()
    model = _PlainResnet(shape)
    return _work(model, model, shape, learning)


def _work(model: nn.Module, answer: Callable[[Tensor], Tensor], shape: Shape, learning: bool) -> Work:
    """A turn of a few batches: whole steps (forward, backward, AdamW), or the classes alone."""
    pixels = torch.randn(shape.batch, 3, shape.size, shape.size)
    labels = torch.randint(shape.classes, (shape.batch,))
    if not learning:
        model.eval()

        def classify() -> int:
            with torch.inference_mode():
                for _ in range(BATCHES):
                    answer(pixels)
            return BATCHES * shape.batch

        return classify
    optimizer = torch.optim.AdamW(model.train().parameters(), 1e-4, fused=True)

    def learn() -> int:
        for _ in range(STEPS):
            F.cross_entropy(answer(pixels), labels).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return STEPS * shape.batch

    return learn


def _recipe(shape: Shape) -> dict[str, Any]:
    whole: dict[str, Any] = {"kind": "image_classifier", "classes": shape.classes, "size": shape.size}
    if isinstance(shape, ResnetShape):
        sizes = {"width": shape.width, "blocks": shape.blocks, "stages": shape.stages}
        return whole | {"body": {"kind": "resnet", **sizes}}
    encoder = {"layers": shape.layers, "attention": {"kind": "multihead", "heads": shape.heads}}
    return whole | {"body": {"kind": "patches", "width": shape.width, "patch": shape.patch, "encoder": encoder}}


class _PlainBlock(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(after)
        self.around = nn.Sequential()
        if stride != 1 or before != after:
            self.around = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Tensor) -> Tensor:
        inner = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(inner)) + self.around(x))


class _PlainResnet(nn.Module):
    def __init__(self, shape: ResnetShape) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, shape.width, 3, 1, 1, bias=False), nn.BatchNorm2d(shape.width)
        self.blocks = nn.Sequential(*_plain_blocks(shape))
        self.head = nn.Linear(shape.width * 2 ** (shape.stages - 1), shape.classes)

    def forward(self, pixels: Tensor) -> Tensor:
        x = self.blocks(F.relu(self.norm(self.first(pixels))))
        out: Tensor = self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))
        return out


def _plain_blocks(shape: ResnetShape) -> Iterator[_PlainBlock]:
    before = shape.width
    for stage in range(shape.stages):
        for number in range(shape.blocks):
            after = shape.width * 2**stage
            yield _PlainBlock(before, after, 2 if stage and not number else 1)
            before = after
