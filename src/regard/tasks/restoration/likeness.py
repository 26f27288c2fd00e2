"""How like two images are: by the error of their pixels, and by what an eye would see of them."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

LEAST = 1e-10  # mean squared error that is still told: 100 dB
WINDOW, SPREAD = 11, 1.5  # pixels that are looked at together, and how fast they count less
STEADY = (0.01**2, 0.03**2)  # so that nothing is divided by nothing where an image is even


def psnr(images: Float[Tensor, "B C Y X"], clean: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B"]:
    """Peak signal-to-noise ratio of each image in decibels: −10 · log10 of the mean squared error, white being 1."""
    return -10 * (images - clean).square().mean((1, 2, 3)).clamp(min=LEAST).log10()


def ssim(images: Float[Tensor, "B C Y X"], clean: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B"]:
    """Structural similarity: do the same things stand at the same places? 1 is the same image [Wang et al. 2004].

    Of windows of 11 × 11 pixels, the middle of which counts most, the mean over all of
    (2μ_xμ_y + c₁)(2σ_xy + c₂) / ((μ_x² + μ_y² + c₁)(σ_x² + σ_y² + c₂)).
    """
    products = torch.stack([images, clean, images * images, clean * clean, images * clean], 1)
    one, other, ones, others, both = _windows(products).unbind(1)
    light = (2 * one * other + STEADY[0]) / (one.square() + other.square() + STEADY[0])
    shared, spread = both - one * other, ones - one.square() + others - other.square()
    return (light * (2 * shared + STEADY[1]) / (spread + STEADY[1])).mean((1, 2, 3))


def _windows(images: Float[Tensor, "B N C Y X"]) -> Float[Tensor, "B N C y x"]:
    """The weighted mean of every window that is wholly inside; of small images windows are smaller."""
    found = images.flatten(0, 2)[:, None]
    for side, form in ((images.shape[3], (-1, 1)), (images.shape[4], (1, -1))):
        half = (min(WINDOW, side) - 1) // 2
        away = torch.arange(-half, half + 1, device=images.device, dtype=images.dtype)
        weights = (-away.square() / (2 * SPREAD**2)).exp()
        found = F.conv2d(found, (weights / weights.sum()).view(1, 1, *form))
    return found.view(*images.shape[:3], *found.shape[2:])
