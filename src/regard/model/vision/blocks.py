"""The blocks of a residual network: convolutions with a way around them."""

from typing import Annotated, Literal

import torch.nn.functional as F
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.dropout import dropped_rows
from regard.model.mechanism import Block

Convolutions = Annotated[
    Literal["basic", "bottleneck"],
    Doc("What a block is made of: two 3×3 convolutions, or one between two of 1×1 that is four times as narrow."),
]
Activation = Annotated[
    Literal["post", "pre"],
    Doc("Where norm and ReLU stand: after each convolution and the sum, or before each, so that nothing bars the way."),
]
NARROW = 4


class ResnetBlock(Block):
    """relu(x + norm(conv(relu(norm(conv(x)))))) [He et al. 2016]."""

    def __init__(
        self, before: int, after: int, stride: int, kind: Convolutions = "basic", skipped: float = 0.0
    ) -> None:
        super().__init__()
        self.skipped = skipped
        self.inner = nn.Sequential(*_row(before, after, stride, kind)[:-1])
        self.around: nn.Module = nn.Identity()
        if stride != 1 or before != after:
            self.around = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B O y x"]:
        inner = dropped_rows(self.inner(x), self.skipped, self.training)
        return F.relu_(self.around(x) + inner)


class PreactivationBlock(Block):
    """x + conv(relu(norm(conv(relu(norm(x)))))): the way around is free from end to end [He et al. 2016, identity]."""

    def __init__(
        self, before: int, after: int, stride: int, kind: Convolutions = "basic", skipped: float = 0.0
    ) -> None:
        super().__init__()
        self.skipped = skipped
        self.first = nn.Sequential(nn.BatchNorm2d(before), nn.ReLU(inplace=True))
        self.inner = nn.Sequential(*_row(before, after, stride, kind)[:-2])
        self.around = None
        if stride != 1 or before != after:
            self.around = nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B O y x"]:
        inside: Tensor = self.first(x)
        around: Tensor = x if self.around is None else self.around(inside)
        return around + dropped_rows(self.inner(inside), self.skipped, self.training)


BLOCKS: dict[str, type[ResnetBlock] | type[PreactivationBlock]] = {"post": ResnetBlock, "pre": PreactivationBlock}


def _row(before: int, after: int, stride: int, kind: Convolutions) -> list[nn.Module]:
    """The convolutions of a block, each with its norm and ReLU; the 3×3 one takes the stride."""
    if kind == "basic":
        sizes = [(before, after, 3, stride), (after, after, 3, 1)]
    else:
        narrow = after // NARROW
        sizes = [(before, narrow, 1, 1), (narrow, narrow, 3, stride), (narrow, after, 1, 1)]
    row: list[nn.Module] = []
    for width, wide, side, step in sizes:
        row.append(nn.Conv2d(width, wide, side, step, padding=side // 2, bias=False))
        row += [nn.BatchNorm2d(wide), nn.ReLU(inplace=True)]
    return row
