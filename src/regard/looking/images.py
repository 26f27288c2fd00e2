"""Where a classifier looks in an image: by attention where it has any, else by what its answer hangs on."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from regard.listener import Listener
from regard.model.assembly import ImageClassifier
from regard.model.vision import Patches
from regard.model.watch import watch
from regard.pictures import check_ending, plain, sheet, write

SHADES = " ░▒▓█"
NOISY, NOISE = 16, 0.1  # copies of an image that gradients are the mean of, and what is added to them
WIDE = 2.6  # of an image, in inches
TITLE, CAPTION = 14, 17  # letters of an inch
DRAWN = (16, 16)  # rows and columns in letters
MOST = 2**22  # weights of one attention that are looked at: 2,048 patches


@dataclass(frozen=True)
class Look:
    """An image as the model saw it, and how much each place of it counted: maps by what they show, each of sum one."""

    image: NDArray[np.uint8]
    """Rows, columns, channels."""
    maps: dict[str, list[list[float]]]
    about: str
    """How it was found, in a sentence."""

    @property
    def main(self) -> list[list[float]]:
        """The one that says most, which is the last."""
        return list(self.maps.values())[-1]

    def __str__(self) -> str:
        """The image and the main map in letters, side by side: light pixels and what counts most are darkest."""
        rows, columns = (min(side, most) for side, most in zip(self.image.shape[:2], DRAWN, strict=True))
        image = torch.from_numpy(self.image).float().mean(2)
        sides = [F.adaptive_avg_pool2d(image[None, None], (rows, columns))[0, 0]]
        sides.append(F.interpolate(torch.tensor(self.main)[None, None], (rows, columns))[0, 0])
        shades = [(one / one.max().clamp(min=1e-12) * (len(SHADES) - 1)).round().long().tolist() for one in sides]
        lines = zip(*shades, strict=True)
        return "\n".join("    ".join("".join(2 * SHADES[shade] for shade in side) for side in line) for line in lines)

    def draw(self, path: str | Path, title: str = "", listener: Listener | None = None) -> Path:
        """The image, and each of the maps laid over it."""
        return draw_looks({title: self}, path, listener)


def draw_looks(
    looks: Mapping[str, Look], path: str | Path, listener: Listener | None = None, wide: float = WIDE
) -> Path:
    """Some images by their titles, a row for each: the image, and each of its maps laid over it, so wide in inches."""
    path, first = check_ending(path), next(iter(looks.values()))
    height, width = first.image.shape[:2]
    tall = wide * min(3.0, max(0.4, height / width))
    across = 1 + max(len(look.maps) for look in looks.values())
    figure, rows = sheet(wide * across, (tall + 0.4) * len(looks) + 0.6, len(looks), across)
    for axes, (title, look) in zip(rows, looks.items(), strict=True):
        shown = look.image if look.image.shape[2] == 3 else look.image[:, :, 0]
        edges = (-0.5, width - 0.5, height - 0.5, -0.5)
        for one in axes:
            one.set_axis_off()
        for one, (name, grid) in zip(axes, [(title, None), *look.maps.items()], strict=False):
            dimmed = shown if grid is None else shown // 2  # so that what is bright is what counts
            one.imshow(dimmed, cmap="gray", vmin=0, vmax=255)
            if grid is not None:
                weights = np.array(grid) / max(1e-12, float(np.max(grid)))
                one.imshow(weights, cmap="inferno", alpha=0.75 * weights, vmin=0, vmax=1, extent=edges)
            one.set_title(_broken(name, wide * TITLE), fontsize=9)
    figure.supxlabel(_broken(first.about, max(40, wide * across * CAPTION)), fontsize=8)
    return write(figure, path, listener)


def _broken(text: str, letters: float) -> str:
    """In lines of so many letters; those it has stay lines."""
    return "\n".join(fill(plain(line), int(letters)) for line in text.split("\n"))


def looked(model: ImageClassifier, pixels: Float[Tensor, "1 C Y X"], image: NDArray[np.uint8]) -> Look:
    """Where a model looks in an image that is made ready for it."""
    found = _attention(model, pixels)
    if found:
        who = "[CLS]" if isinstance(model.body, Patches) and model.body.read else "all patches, their mean"
        how = "attention shows where it looked, not what decided; brightest is most"
        names = (f"attention of {who}, last layer", "attention rollout, all layers")
        return Look(image, dict(zip(names, found, strict=True)), how)
    about = "no attention to show: the size of the gradient says where a change of pixels would change the answer most"
    return Look(image, {"influence, by gradients": _influence(model, pixels)}, about)


@torch.inference_mode()
def _attention(model: ImageClassifier, pixels: Float[Tensor, "1 C Y X"]) -> list[list[list[float]]]:
    """Where what stands for the image looked in the last layer, and through all layers [Abnar & Zuidema 2020]:
    with A the mean over heads, r ← r · (A + I)/2 from the last layer to the first. Nothing where not all layers attend.
    """
    body = model.body
    if not isinstance(body, Patches):
        return []
    with watch(body) as seen:
        model(pixels)
    grid = body.grid
    if not seen or grid.count**2 > MOST or not all(sight.seen for sight in seen.values()):
        return []
    weights = [sight.weights[0].float().mean(0) for sight in seen.values()]
    if any(one.shape[1] != grid.count for one in weights):
        return []
    stands = slice(0, body.read) if body.read else slice(grid.extra, None)  # for the image
    asked = torch.zeros(grid.count, device=pixels.device)
    asked[stands] = 1 / len(asked[stands])
    last, through = asked[: len(weights[-1])] @ weights[-1], asked
    for one in reversed(weights):  # of the last layer there may be no rows but the first
        through = (through[: len(one)] @ one + through) / 2
    return [_grid(one, grid.rows, grid.columns) for one in (last, through)]


def _grid(weights: Float[Tensor, "T"], rows: int, columns: int) -> list[list[float]]:
    """Those on patches, where these stand."""
    places = weights[-rows * columns :]
    found: list[list[float]] = (places / places.sum().clamp(min=1e-12)).view(rows, columns).tolist()
    return found


def _influence(model: ImageClassifier, pixels: Float[Tensor, "1 C Y X"]) -> list[list[float]]:
    """|∂ log p / ∂ pixel| of the class it names, the mean over copies with a little noise [Smilkov et al. 2017]."""
    chance = torch.Generator().manual_seed(0)
    noise = torch.randn((NOISY, *pixels.shape[1:]), generator=chance).to(pixels)
    copies = (pixels + NOISE * noise).requires_grad_(True)
    with torch.enable_grad():
        named = model(pixels).detach().argmax(1).expand(NOISY)
        costs = F.cross_entropy(model(copies).float(), named, reduction="sum")
        (slopes,) = torch.autograd.grad(costs, copies)
    size = F.avg_pool2d(slopes.abs().mean((0, 1))[None, None], 3, 1, 1)[0, 0]
    found: list[list[float]] = (size / size.sum().clamp(min=1e-12)).tolist()
    return found
