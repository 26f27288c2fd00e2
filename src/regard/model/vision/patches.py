"""The Vision Transformer: an image is a sequence of patches."""

from typing import Annotated, Literal

import torch
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.mask import Mask
from regard.model.options import Width
from regard.model.stack import Encoder
from regard.model.vision.body import ImageBody
from regard.recipe import Count, Part, choose


class PatchEmbedding(nn.Module):
    """Cut into patches, flatten, project: the same as a p×p convolution with stride p.

    [N0:174-177, N3:153-155; Dosovitskiy et al. 2021]
    """

    def __init__(self, channels: int, patch: int, width: int) -> None:
        super().__init__()
        self.patch = patch
        self.project = nn.Linear(channels * patch * patch, width)

    def forward(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B N D"]:
        cut = pixels.unflatten(2, (-1, self.patch)).unflatten(4, (-1, self.patch))  # B C y p x p
        flat = cut.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)  # B y·x C·p·p
        out: Tensor = self.project(flat)
        return out


class Patches(ImageBody):
    """Patches go through any encoder; [CLS] or the mean sums up the image.

    [N0:155-189, N3:150-157; Dosovitskiy et al. 2021]. With a Transformer encoder this is ViT.
    """

    def __init__(
        self,
        channels: int,
        size: int,
        *,
        width: Width = 192,
        patch: Annotated[Count, Doc("Side of a patch in pixels; it must divide the side of the image.")] = 16,
        pooling: Annotated[
            Literal["cls", "mean"], Doc("What stands for the image: the state of an extra first token, or the mean.")
        ] = "cls",
        encoder: Annotated[Part[Encoder], Doc("What reads the patches, one after the other.")] = choose(
            "transformer", positions={"kind": "learned"}, mlp={"kind": "gelu"}
        ),
    ) -> None:
        super().__init__()
        if size % patch:
            raise ValueError(f"patch: patches of {patch} do not divide images of {size}")
        self.out_width, self.pooling = width, pooling
        self.embed = PatchEmbedding(channels, patch, width)
        self.cls = nn.Parameter(torch.zeros(1, 1, width)) if pooling == "cls" else None
        self.encoder = encoder.build(width)
        if pooling == "cls" and not self.encoder.looks_ahead:
            raise ValueError(
                "pooling: [CLS] stands first and this encoder looks only back, so it sees nothing; choose mean"
            )

    def initial(self) -> None:
        if self.cls is not None:
            nn.init.normal_(self.cls, std=0.02)

    def forward(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B D"]:
        x = self.embed(pixels)
        if self.cls is not None:
            x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1)
        states: Tensor = self.encoder(x, Mask()).states
        return states.mean(1) if self.cls is None else states[:, 0]
