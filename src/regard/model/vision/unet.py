"""The U-Net: down to a small picture of the whole, and up again past what was seen on the way."""

from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.mechanism import Mechanism
from regard.model.module_list import ModuleList
from regard.model.vision.blocks import ResnetBlock

Skips = Annotated[
    Literal["concatenate", "none"],
    Doc("How the way up learns what the way down saw at each size: laid beside what comes from below, or not at all."),
]


class Unet(Mechanism):
    """Skips across scales: what is lost where the image is small comes past it from where it was large.

    up_s = block([enlarge(up_{s+1}); down_s]) [N0:51; Ronneberger et al. 2015]
    """

    def __init__(self, channels: int, width: int, blocks: int, scales: int, skips: Skips) -> None:
        super().__init__()
        self.scales, self.skips = scales, skips
        widths = [width * 2**scale for scale in range(scales)]
        self.stem = nn.Sequential(
            nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        )
        self.down = ModuleList(
            _blocks(widths[max(scale - 1, 0)], widths[scale], 2 if scale else 1, blocks) for scale in range(scales)
        )
        beside = 2 if skips == "concatenate" else 1
        self.narrow = ModuleList(
            nn.Sequential(nn.Conv2d(2 * each, each, 1, bias=False), nn.BatchNorm2d(each)) for each in widths[:-1]
        )
        self.up = ModuleList(_blocks(beside * each, each, 1, blocks) for each in widths[:-1])
        self.out_width = width
        self.reach = 1 + 2 * blocks * (3 * 2 ** (scales - 1) - 2) + 2**scales
        """Pixels to each side beyond which nothing is seen, or a few more: of two convolutions a block, each a pixel of
        its own size wide, down and up."""

    def forward(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B O Y X"]:
        x: Tensor = self.stem(pixels)
        seen: list[Tensor] = []
        for blocks in self.down:
            x = blocks(x)
            seen.append(x)
        for scale in reversed(range(self.scales - 1)):
            beside = seen[scale]
            x = F.interpolate(self.narrow[scale](x), beside.shape[2:], mode="nearest")
            x = self.up[scale](torch.cat([x, beside], 1) if self.skips == "concatenate" else x)
        return x


def _blocks(before: int, after: int, stride: int, count: int) -> nn.Sequential:
    first = ResnetBlock(before, after, stride)
    return nn.Sequential(first, *(ResnetBlock(after, after, 1) for _ in range(count - 1)))
