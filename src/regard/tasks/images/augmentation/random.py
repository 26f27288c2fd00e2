"""All that is usually done to training images, each by a number of its own."""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
import torch
from annotated_doc import Doc
from jaxtyping import Float
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from regard.recipe import Share
from regard.tasks.images.augmentation import colours
from regard.tasks.images.augmentation.augmentation import Augmentation, Draws
from regard.tasks.images.augmentation.boxes import boxes, coverings, inside
from regard.tasks.images.augmentation.geometry import shifted
from regard.tasks.images.augmentation.policy import OPERATIONS, operated

Far = Annotated[int, Field(ge=0, le=4096)]
Few = Annotated[int, Field(ge=0, le=16)]
Alpha = Annotated[float, Field(ge=0, le=100)]
LEAST = 0.01  # of an α: with less, all images are as good as whole


class Random(Augmentation):
    """Shifted, mirrored, coloured, turned, mixed and covered by chance; nothing of it, unless it is asked for.

    [RandAugment: Cubuk et al. 2020; mixup: Zhang et al. 2018; CutMix: Yun et al. 2019; erasing: Zhong et al. 2020]
    """

    def __init__(
        self,
        *,
        crop_padding: Annotated[
            Far, Doc("Pixels by which an image is shifted at most, to any side; its edges are repeated there.")
        ] = 0,
        flip: Annotated[
            Share, Doc("Share of images that are mirrored, left to right: 0.5 for photographs, 0 for letters.")
        ] = 0.0,
        colour: Annotated[
            Share, Doc("Share by which brightness, contrast and saturation each change at most; 0 is never.")
        ] = 0.0,
        operations: Annotated[
            Few, Doc("Operations of RandAugment for each image: turn, shear, move, contrast and more; 0 is none.")
        ] = 0,
        magnitude: Annotated[Share, Doc("How strong these operations are at most, from 0 to 1.")] = 0.5,
        mixup: Annotated[
            Alpha,
            Doc("Two images over each other; their shares are drawn from Beta(α, α) with this α; 0 is never."),
        ] = 0.0,
        cutmix: Annotated[
            Alpha,
            Doc("A rectangle from another image, its size drawn with this α; with mixup, half each; 0 is never."),
        ] = 0.0,
        erase: Annotated[Share, Doc("Share of images of which a rectangle is covered by their mean colour.")] = 0.0,
    ) -> None:
        for name, given in (("mixup", mixup), ("cutmix", cutmix)):
            if 0 < given < LEAST:
                raise ValueError(f"{name}: {given:g} is as good as none; choose 0, or {LEAST:g} and more")
        self.crop_padding, self.flip, self.colour = crop_padding, flip, colour
        self.operations, self.magnitude = operations, magnitude
        self.mixup, self.cutmix, self.erase = mixup, cutmix, erase

    def draw(self, rows: int, shape: tuple[int, int], chance: np.random.Generator) -> Draws:
        each: dict[str, Tensor] = {}
        if self.crop_padding or self.flip:
            far = self.crop_padding
            each["shift"] = torch.from_numpy(chance.integers(-far, far, (rows, 2), endpoint=True))
            each["mirrored"] = torch.from_numpy(chance.random(rows) < self.flip)
        if self.colour:
            each["colour"] = _single(chance.uniform(1 - self.colour, 1 + self.colour, (rows, 3)))
        if self.operations:
            each["operations"] = torch.from_numpy(chance.integers(len(OPERATIONS), size=(rows, self.operations)))
            each["strengths"] = _single(chance.uniform(-self.magnitude, self.magnitude, (rows, self.operations)))
        if self.erase:
            each["covered"] = coverings(rows, self.erase, shape, chance)
        if not self.mixup and not self.cutmix:
            return Draws(each)
        cut = chance.random(rows) < (0.5 if self.mixup and self.cutmix else float(self.cutmix > 0))
        over = chance.beta(self.mixup, self.mixup, rows) if self.mixup else np.ones(rows)
        beside = 1 - chance.beta(self.cutmix, self.cutmix, rows) if self.cutmix else np.zeros(rows)
        each["share"] = _single(np.where(cut, 1.0, over))
        each["cut"] = boxes(np.where(cut, beside, 0.0), shape, chance)
        return Draws(each, (torch.arange(rows) + 1) % rows)  # the order of a batch is chance already

    def vary(self, pixels: Float[Tensor, "B C Y X"], drawn: Mapping[str, Tensor]) -> Float[Tensor, "B C Y X"]:
        device = pixels.device
        if self.crop_padding or self.flip:
            pixels = shifted(pixels, drawn["shift"].to(device), drawn["mirrored"].to(device))
        if self.colour:
            light, apart, vivid = drawn["colour"].to(device).unbind(1)
            pixels = colours.saturation(colours.contrast(colours.brightness(pixels, light), apart), vivid)
        if self.operations:
            pixels = operated(pixels, drawn["operations"], drawn["strengths"])
        if self.erase:
            covered = inside(drawn["covered"].to(device), _shape(pixels))
            pixels = torch.where(covered, pixels.mean((2, 3), keepdim=True), pixels)
        return pixels

    def mix(
        self, pixels: Float[Tensor, "B C Y X"], others: Float[Tensor, "B C Y X"], drawn: Mapping[str, Tensor]
    ) -> tuple[Float[Tensor, "B C Y X"], Float[Tensor, "B"]]:
        away = inside(drawn["cut"].to(pixels.device), _shape(pixels))
        share = drawn["share"].to(pixels)[:, None, None, None] * ~away
        return others + (pixels - others) * share, share.mean((1, 2, 3))


def _single(numbers: NDArray[np.float64]) -> Tensor:
    return torch.from_numpy(numbers.astype(np.float32))


def _shape(pixels: Float[Tensor, "B C Y X"]) -> tuple[int, int]:
    height, width = pixels.shape[2:]
    return height, width
