"""What pixels become: brightness, contrast, colour and what else changes an image but moves nothing in it."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

WEIGHTS = (0.299, 0.587, 0.114)  # how bright red, green and blue are to the eye
LEVELS = 256

Pixels = Float[Tensor, "B C Y X"]
Row = Float[Tensor, "B"]


def blend(pixels: Pixels, other: Float[Tensor, "B c y x"], factor: Row) -> Pixels:
    """From another image (0) to this one (1) and beyond."""
    return (other + (pixels - other) * factor[:, None, None, None]).clamp(0, 1)


def grey(pixels: Pixels) -> Float[Tensor, "B 1 Y X"]:
    """How bright each pixel is."""
    if pixels.shape[1] != len(WEIGHTS):
        return pixels.mean(1, keepdim=True)
    weights = pixels.new_tensor(WEIGHTS)[:, None, None]
    return (pixels * weights).sum(1, keepdim=True)


def brightness(pixels: Pixels, factor: Row) -> Pixels:
    """Darker or lighter."""
    return (pixels * factor[:, None, None, None]).clamp(0, 1)


def contrast(pixels: Pixels, factor: Row) -> Pixels:
    """Nearer to or farther from the mean of the image."""
    return blend(pixels, grey(pixels).mean((2, 3), keepdim=True), factor)


def saturation(pixels: Pixels, factor: Row) -> Pixels:
    """Nearer to grey, or more colourful."""
    return blend(pixels, grey(pixels), factor)


def sharpness(pixels: Pixels, factor: Row) -> Pixels:
    """Softer or sharper: away from the mean of the neighbours, which the edge has outside, too."""
    soft = F.avg_pool2d(F.pad(pixels, (1, 1, 1, 1), "replicate"), 3, stride=1)
    return blend(pixels, soft, factor)


def posterize(pixels: Pixels, levels: Row) -> Pixels:
    """Only so many shades of each colour."""
    steps = levels.round().clamp(min=2)[:, None, None, None] - 1
    return (pixels * steps).round() / steps


def solarize(pixels: Pixels, above: Row) -> Pixels:
    """What is lighter than a bound turns into its negative."""
    return torch.where(pixels > above[:, None, None, None], 1 - pixels, pixels)


def autocontrast(pixels: Pixels) -> Pixels:
    """Stretched so that each colour has all shades, from none to full."""
    least, most = pixels.amin((2, 3), keepdim=True), pixels.amax((2, 3), keepdim=True)
    return torch.where(most > least, (pixels - least) / (most - least).clamp(min=1 / LEVELS), pixels)


def equalize(pixels: Pixels) -> Pixels:
    """So that every shade of a colour is about as frequent."""
    flat = (pixels * (LEVELS - 1)).round().long().flatten(2)
    found = flat.new_zeros(*flat.shape[:2], LEVELS).scatter_add(2, flat, torch.ones_like(flat)).cumsum(2)
    first = found.gather(2, flat.amin(2, keepdim=True))
    shades = (found - first) / (flat.shape[2] - first).clamp(min=1)
    made = shades.gather(2, flat).view_as(pixels)
    return torch.where((flat.shape[2] > first)[..., None], made, pixels)
