"""A small residual network, the convolutional baseline."""

from typing import Annotated, Literal

from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.options import StochasticDepth
from regard.model.vision.blocks import BLOCKS, NARROW, Activation, Convolutions
from regard.model.vision.body import ImageBody, Shape, times
from regard.recipe import Count


class Resnet(ImageBody):
    """Convolutions with a way around them: local by construction, so it needs less data.

    y = x + F(x), stage by stage, each half as large and twice as wide [N0:49; He et al. 2016]. With a `large` stem,
    width 64 and four stages of 2 basic blocks it is ResNet-18; of 3, 4, 6 and 3 bottlenecks, ResNet-50.
    """

    def __init__(
        self,
        channels: int,
        shape: Shape,
        *,
        width: Annotated[
            Count, Doc("Channels of the first stage, four times as many of bottlenecks; each next has twice as many.")
        ] = 16,
        blocks: Annotated[
            Count | list[Count], Doc("Residual blocks in each stage, or a list with a number for each stage.")
        ] = 3,
        stages: Annotated[Count, Doc("Number of stages; each next one sees the image at half the size.")] = 3,
        block: Convolutions = "basic",
        activation: Activation = "post",
        stem: Annotated[
            Literal["small", "large"],
            Doc(
                "What comes first: a 3×3 convolution, or one of 7×7 and a maximum, which leave a quarter of each side."
            ),
        ] = "small",
        stochastic_depth: StochasticDepth = 0.0,
    ) -> None:
        super().__init__()
        counts = [blocks] * stages if isinstance(blocks, int) else blocks
        if len(counts) != stages:
            raise ValueError(f"blocks: {len(counts)} numbers do not fit stages = {stages}; say one for each stage")
        halvings = stages - 1 + (2 if stem == "large" else 0)
        if min(shape) < 2**halvings:
            raise ValueError(f"stages: images of {times(*shape)} cannot be halved {halvings} times")
        self.stem = _stem(channels, width, stem)
        first = width if block == "basic" else NARROW * width
        total, before, made = sum(counts), width, list[nn.Module]()
        for stage, count in enumerate(counts):
            after = first * 2**stage
            for number in range(count):
                stride = 2 if stage and not number else 1
                skipped = stochastic_depth * (len(made) + 1) / total
                made.append(BLOCKS[activation](before, after, stride, block, skipped))
                before = after
        self.blocks = nn.Sequential(*made)
        self.close: nn.Module = nn.Identity()
        if activation == "pre":
            self.close = nn.Sequential(nn.BatchNorm2d(before), nn.ReLU(inplace=True))
        self.out_width = before

    def forward(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B O"]:
        x: Tensor = self.close(self.blocks(self.stem(pixels)))
        return x.mean((2, 3))


def _stem(channels: int, width: int, kind: Literal["small", "large"]) -> nn.Sequential:
    side, stride = (3, 1) if kind == "small" else (7, 2)
    first = nn.Conv2d(channels, width, side, stride, padding=side // 2, bias=False)
    stem = nn.Sequential(first, nn.BatchNorm2d(width), nn.ReLU(inplace=True))
    return stem.append(nn.MaxPool2d(3, 2, padding=1)) if kind == "large" else stem
