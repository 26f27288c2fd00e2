"""RandAugment, nearly: a few operations for each image, drawn from a list, each with a strength of its own."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.tasks.images.augmentation import colours
from regard.tasks.images.augmentation.geometry import move, shear, turn, warped

Pixels = Float[Tensor, "B C Y X"]
Row = Float[Tensor, "B"]

TURN, SHEAR, MOVE = 0.52, 0.3, 0.6  # at full strength: thirty degrees; slant; halves of the smaller side
CHANGE = 0.9  # of brightness, contrast, colour and sharpness
SHADES = 5.0  # 2 to the power of so many are taken away at full strength


def _none(row: Row) -> Row:
    return torch.zeros_like(row)


OPERATIONS: dict[str, Callable[[Pixels, Row], Pixels]] = {
    "leave": lambda x, _: x,
    "turn": lambda x, s: warped(x, turn(s * TURN)),
    "shear across": lambda x, s: warped(x, shear(s * SHEAR, _none(s))),
    "shear down": lambda x, s: warped(x, shear(_none(s), s * SHEAR)),
    "move across": lambda x, s: warped(x, move(s * MOVE, _none(s))),
    "move down": lambda x, s: warped(x, move(_none(s), s * MOVE)),
    "brightness": lambda x, s: colours.brightness(x, 1 + s * CHANGE),
    "contrast": lambda x, s: colours.contrast(x, 1 + s * CHANGE),
    "saturation": lambda x, s: colours.saturation(x, 1 + s * CHANGE),
    "sharpness": lambda x, s: colours.sharpness(x, 1 + s * CHANGE),
    "posterize": lambda x, s: colours.posterize(x, 2 ** (8 - s.abs() * SHADES)),
    "solarize": lambda x, s: colours.solarize(x, 1 - s.abs()),
    "autocontrast": lambda x, _: colours.autocontrast(x),
    "equalize": lambda x, _: colours.equalize(x),
}


def operated(
    pixels: Float[Tensor, "B C Y X"], chosen: Int[Tensor, "B N"], strengths: Float[Tensor, "B N"]
) -> Float[Tensor, "B C Y X"]:
    """Every image after the operations chosen for it; those of one operation go through it together.

    Strengths are between −1 and 1. Choices and strengths are where they were drawn, so that no device is waited for.
    """
    made = pixels.clone()
    for choices, strength in zip(chosen.unbind(1), strengths.unbind(1), strict=True):
        for number, operation in enumerate(OPERATIONS.values()):
            rows = (choices == number).nonzero()[:, 0]
            if number and len(rows):
                here = rows.to(made.device)
                made[here] = operation(made[here], strength[rows].to(made))
    return made
