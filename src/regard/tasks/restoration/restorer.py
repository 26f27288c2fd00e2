"""From a spoilt image to what it may have been: images of any size, in colour or grey."""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from regard.errors import NoNumbersError
from regard.markup import Answer
from regard.model.assembly import ImageRestorer
from regard.model.mode import evaluating
from regard.tasks.restoration.corruption import Corruption, drawn_for
from regard.tasks.restoration.facts import Facts
from regard.tasks.restoration.likeness import psnr
from regard.tasks.restoration.tiles import tiles

PIXELS = 2**18  # of the images that are restored at once
TOGETHER = 256  # images, however small
SIDE = 512  # rows and columns of a piece of a large image


@dataclass(frozen=True)
class Restored(Answer):
    """An image by its name, as it was given and as it was restored: bytes, rows × columns × channels. `clean` is what
    it was before it was spoilt for a trial, `path` the file it was written to."""

    heads = ("image", "size", " dB before", " dB after", "written to")
    name: str
    before: NDArray[np.uint8]
    pixels: NDArray[np.uint8]
    clean: NDArray[np.uint8] | None = None
    path: Path | None = None

    @property
    def psnr(self) -> dict[str, float]:
        """Decibels of the image before and after, where it is known what it should be."""
        if self.clean is None:
            return {}
        before, after, clean = (_planes(each).float() / 255 for each in (self.before, self.pixels, self.clean))
        return {"before": float(psnr(before, clean)), "after": float(psnr(after, clean))}

    def rows(self) -> list[tuple[str, ...]]:
        """One row."""
        rows, columns = self.pixels.shape[:2]
        known = [f"{self.psnr[side]:.2f}" if self.psnr else "" for side in ("before", "after")]
        return [(self.name, f"{rows} × {columns}", *known, str(self.path or ""))]

    def pictures(self) -> list[bytes]:
        """Before and after."""
        return [png_bytes(self.before), png_bytes(self.pixels)]

    def __repr__(self) -> str:
        rows, columns = self.pixels.shape[:2]
        return f"Restored({self.name!r}, {rows} × {columns}{'' if self.path is None else f', {str(self.path)!r}'})"


def png_bytes(pixels: NDArray[np.uint8]) -> bytes:
    """Pixels (rows, columns, channels) as a PNG file."""
    made = BytesIO()
    Image.fromarray(pixels if pixels.shape[2] == 3 else pixels[:, :, 0]).save(made, "PNG")
    return made.getvalue()


@dataclass(frozen=True)
class Restorer:
    """A trained model, what it knows of its images, and how those were spoilt that it learnt from."""

    model: ImageRestorer
    facts: Facts
    corruption: Corruption

    @property
    def together(self) -> int:
        """Images of the size it learnt from that are restored at once."""
        rows, columns = self.facts.shape
        return max(1, min(TOGETHER, PIXELS // (rows * columns)))

    def restore(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """An image (rows, columns, channels) of any size. Of what has other channels than the model knows, every colour
        is restored by itself, or a grey image as if it were one in colour."""
        planes = _planes(image)
        if self.facts.channels == 1:
            made = self._pieces(planes.transpose(0, 1)).transpose(0, 1)
        elif len(planes[0]) == 1:
            made = self._pieces(planes.expand(1, self.facts.channels, -1, -1)).clamp(0, 1).mean(1, keepdim=True)
        else:
            made = self._pieces(planes)
        return _bytes(made)

    def corrupted(self, image: NDArray[np.uint8], number: int) -> NDArray[np.uint8]:
        """An image spoilt as those were that it learnt from; its number says how."""
        pixels = _planes(image).float() / 255
        drawn = drawn_for(self.corruption, [number], image.shape[2], (image.shape[0], image.shape[1]))
        return _bytes(self.corruption.corrupt(pixels, drawn))

    @torch.inference_mode()
    def outputs(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
        """What the model makes of pixels between 0 and 1, in its own scale."""
        device = next(self.model.parameters()).device
        with evaluating(self.model):
            found: Tensor = self.model(self.facts.scaled(pixels.to(device))).float()
        if not bool(found.isfinite().all()):
            raise NoNumbersError("what the model makes of the image are no numbers any more")
        return found.cpu()

    def _pieces(self, images: Tensor) -> Float[Tensor, "B C Y X"]:
        """Bytes of any size into pixels, no more than a piece of them at once."""
        height, width = images.shape[2:]
        least, reach = self.model.least, self.model.reach
        small = [max(0, least - side) for side in (height, width)]
        images = F.pad(images.float(), (0, small[1], 0, small[0]), "replicate") if any(small) else images
        made = torch.empty(images.shape)
        for down in tiles(images.shape[2], SIDE, reach, least):
            for along in tiles(images.shape[3], SIDE, reach, least):
                found = self.outputs(images[:, :, down.read, along.read].float() / 255)
                made[:, :, down.kept, along.kept] = self.facts.unscaled(found[:, :, down.part, along.part])
        return made[:, :, :height, :width]


def _planes(image: NDArray[np.uint8]) -> Tensor:
    """(1, channels, rows, columns)."""
    return torch.from_numpy(np.array(image.transpose(2, 0, 1), order="C"))[None]


def _bytes(pixels: Float[Tensor, "1 C Y X"]) -> NDArray[np.uint8]:
    """Rows, columns, channels, as a file holds them."""
    made: NDArray[np.uint8] = rounded(pixels)[0].permute(1, 2, 0).mul(255).round().byte().numpy()
    return made


def rounded(pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
    """Pixels as bytes hold them, between 0 and 1."""
    return (pixels.clamp(0, 1) * 255).round() / 255
