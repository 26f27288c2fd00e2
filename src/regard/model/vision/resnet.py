"""A small residual network, the convolutional baseline."""

from typing import Annotated, Literal

import torch.nn.functional as F
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.mechanism import Block
from regard.model.vision.body import ImageBody
from regard.recipe import Count


class Resnet(ImageBody):
    """Convolutions with a way around them: local by construction, so it needs less data.

    y = x + F(x), three stages, each half as large and twice as wide [N0:49; He et al. 2016]
    """

    def __init__(
        self,
        channels: int,
        size: int,
        *,
        width: Annotated[Count, Doc("Channels of the first stage; each next stage has twice as many.")] = 16,
        blocks: Annotated[Count, Doc("Residual blocks in each stage, of two convolutions each.")] = 3,
        stages: Annotated[Count, Doc("Number of stages; each next one sees the image at half the size.")] = 3,
    ) -> None:
        super().__init__()
        if size < 2 ** (stages - 1):
            raise ValueError(f"stages: images of {size} cannot be halved {stages - 1} times")
        self.stem = nn.Sequential(nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width))
        widths = [width * 2**stage for stage in range(stages)]
        self.blocks = nn.Sequential(
            *(
                ResnetBlock(
                    widths[max(stage - 1, 0)] if i == 0 else widths[stage], widths[stage], 2 if stage and i == 0 else 1
                )
                for stage in range(stages)
                for i in range(blocks)
            )
        )
        self.out_width = widths[-1]

    def forward(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B O"]:
        x: Tensor = self.blocks(F.relu(self.stem(pixels)))
        return x.mean((2, 3))


class ResnetBlock(Block):
    """relu(x + conv(relu(conv(x))))."""

    def __init__(self, in_width: int, width: int, stride: Literal[1, 2]) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(in_width, width, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )
        self.around: nn.Module = nn.Identity()
        if stride != 1 or in_width != width:
            self.around = nn.Sequential(nn.Conv2d(in_width, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B O y x"]:
        return F.relu(self.around(x) + self.inner(x))
