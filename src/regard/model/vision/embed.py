"""From pixels to patches: by one product each, or by a few convolutions."""

from itertools import pairwise
from typing import Annotated, Literal

from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.vision.body import Shape, times

Stem = Annotated[
    Literal["patches", "convolution"],
    Doc("How patches become vectors: by one product each, or by small convolutions, each of which halves the image."),
]


class PatchEmbedding(nn.Module):
    """Cut into patches, flatten, project: the same as a p×q convolution with strides p and q.

    [N0:174-177, N3:153-155; Dosovitskiy et al. 2021]
    """

    def __init__(self, channels: int, patch: int | Shape, width: int) -> None:
        super().__init__()
        self.patch = (patch, patch) if isinstance(patch, int) else patch
        self.project = nn.Linear(channels * self.patch[0] * self.patch[1], width)

    def forward(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B N D"]:
        cut = pixels.unflatten(2, (-1, self.patch[0])).unflatten(4, (-1, self.patch[1]))  # B C y p x q
        flat = cut.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)  # B y·x C·p·q
        out: Tensor = self.project(flat)
        return out


class ConvolutionStem(nn.Module):
    """A few convolutions of 3×3, each of which halves the image, and a product: patches that know of their edges.

    Easier to train than one product [Xiao et al. 2021].
    """

    def __init__(self, channels: int, patch: Shape, width: int) -> None:
        super().__init__()
        halvings = patch[0].bit_length() - 1
        if patch != (2**halvings, 2**halvings) or not halvings:
            raise ValueError(
                f"stem: convolutions halve both sides again and again, which makes no patches of {times(*patch)}; "
                "choose a patch of 2, 4, 8 or 16"
            )
        widths = [channels, *(max(1, width // 2**left) for left in reversed(range(halvings)))]
        self.halve = nn.Sequential()
        for before, after in pairwise(widths):
            self.halve.append(nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False))
            self.halve.append(nn.BatchNorm2d(after))
            self.halve.append(nn.ReLU())
        self.project = nn.Linear(widths[-1], width)

    def forward(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B N D"]:
        out: Tensor = self.project(self.halve(pixels).permute(0, 2, 3, 1).flatten(1, 2))
        return out
