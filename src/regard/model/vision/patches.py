"""The Vision Transformer: an image is a sequence of patches."""

from typing import Annotated, Literal

import torch
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.mask import Mask
from regard.model.options import Sides, Width, sides
from regard.model.positions import Grid
from regard.model.stack import Encoder
from regard.model.vision.body import ImageBody, Shape, times
from regard.model.vision.embed import ConvolutionStem, PatchEmbedding, Stem
from regard.recipe import Number, Part, choose

READ = {"cls": 1, "distilled": 2}


class Patches(ImageBody):
    """Patches go through any encoder; [CLS] or the mean sums up the image.

    [N0:155-189, N3:150-157; Dosovitskiy et al. 2021]. With a Transformer encoder this is ViT. `distilled` has a second
    token that learns from a teacher, and hands on both [DeiT, Touvron et al. 2021]. `registers` are tokens in which
    an encoder may keep what belongs to no patch [Darcet et al. 2024].
    """

    def __init__(
        self,
        channels: int,
        shape: Shape,
        *,
        width: Width = 192,
        patch: Annotated[
            Sides, Doc("Side of a patch in pixels, or its rows and columns; they must divide those of the image.")
        ] = 16,
        stem: Stem = "patches",
        pooling: Annotated[
            Literal["cls", "mean", "distilled"],
            Doc(
                "What stands for the image: the state of an extra first token, of two of them, or the mean of patches."
            ),
        ] = "cls",
        registers: Annotated[Number, Doc("Further extra tokens before the patches, which nobody reads.")] = 0,
        encoder: Annotated[Part[Encoder], Doc("What reads the patches, one after the other.")] = choose(
            "transformer", positions={"kind": "learned"}, mlp={"kind": "gelu"}
        ),
    ) -> None:
        super().__init__()
        self.patch, self.pooling, self.read = sides(patch), pooling, READ.get(pooling, 0)
        self.grid = grid_of(shape, self.patch, self.read + registers)
        self.out_width = max(1, self.read) * width
        embedding = PatchEmbedding if stem == "patches" else ConvolutionStem
        self.embed = embedding(channels, self.patch, width)
        self.cls = _tokens(self.read, width)
        self.registers = _tokens(registers, width)
        self.encoder = encoder.build(width)
        if self.read and not self.encoder.looks_ahead:
            raise ValueError(
                "pooling: [CLS] stands first and this encoder looks only back, so it sees nothing; choose mean"
            )
        self.encoder.lay_out(self.grid, self.read or None)

    def initial(self) -> None:
        for tokens in (self.cls, self.registers):
            if tokens is not None:
                nn.init.normal_(tokens, std=0.02)

    def forward(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B O"]:
        x = self.embed(pixels)
        extra = [tokens.expand(len(x), -1, -1) for tokens in (self.cls, self.registers) if tokens is not None]
        x = torch.cat([*extra, x], 1) if extra else x
        states: Tensor = self.encoder(x, Mask()).states
        return states[:, : self.read].flatten(1) if self.read else states[:, self.grid.extra :].mean(1)


def grid_of(shape: Shape, patch: Shape, extra: int) -> Grid:
    """The rows and columns of patches that an image is cut into."""
    if shape[0] % patch[0] or shape[1] % patch[1]:
        raise ValueError(f"patch: patches of {times(*patch)} do not divide images of {times(*shape)}")
    return Grid(shape[0] // patch[0], shape[1] // patch[1], extra)


def _tokens(count: int, width: int) -> nn.Parameter | None:
    return nn.Parameter(torch.zeros(1, count, width)) if count else None
