"""Where pixels go: shifts, mirrors, turns and shears, a whole batch at once, each image by its own numbers."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor


def shifted(
    pixels: Float[Tensor, "B C Y X"], by: Int[Tensor, "B two"], mirrored: Bool[Tensor, "B"]
) -> Float[Tensor, "B C Y X"]:
    """Moved by whole pixels (down, right) and mirrored, where so said; at the edge its last pixels are repeated.

    The same as a piece of the old size cut out of an image that was padded first.
    """
    height, width = pixels.shape[2:]
    down, along = (torch.arange(length, device=pixels.device) for length in (height, width))
    rows = (down - by[:, :1]).clamp(0, height - 1)
    columns = (along - by[:, 1:]).clamp(0, width - 1)
    columns = torch.where(mirrored[:, None], width - 1 - columns, columns)
    moved = pixels.gather(2, rows[:, None, :, None].expand_as(pixels))
    return moved.gather(3, columns[:, None, None, :].expand_as(pixels))


def warped(pixels: Float[Tensor, "B C Y X"], matrices: Float[Tensor, "B 2 3"]) -> Float[Tensor, "B C Y X"]:
    """Every pixel from where its image's matrix says, around the centre, in halves of the smaller side."""
    height, width = pixels.shape[2:]
    sides = pixels.new_tensor([width, height]) / min(height, width)  # so that a turn stays one in a rectangle
    scale = torch.cat([sides, sides.new_ones(1)])
    grid = F.affine_grid(matrices * scale / sides[:, None], list(pixels.shape), align_corners=False)
    return F.grid_sample(pixels, grid, padding_mode="border", align_corners=False)


def turn(angle: Float[Tensor, "B"]) -> Float[Tensor, "B 2 3"]:
    """By an angle."""
    cos, sin, zero = angle.cos(), angle.sin(), torch.zeros_like(angle)
    return _matrices((cos, -sin, zero), (sin, cos, zero))


def shear(across: Float[Tensor, "B"], down: Float[Tensor, "B"]) -> Float[Tensor, "B 2 3"]:
    """Slanted: rows pushed along, columns pushed down, the more the farther from the centre."""
    one, zero = torch.ones_like(across), torch.zeros_like(across)
    return _matrices((one, across, zero), (down, one, zero))


def move(across: Float[Tensor, "B"], down: Float[Tensor, "B"]) -> Float[Tensor, "B 2 3"]:
    """By so many halves of the smaller side."""
    one, zero = torch.ones_like(across), torch.zeros_like(across)
    return _matrices((one, zero, across), (zero, one, down))


def _matrices(*rows: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    return torch.stack([torch.stack(row, 1) for row in rows], 1)
