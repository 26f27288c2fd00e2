"""Where heads could look in an image: patches have rows and columns, so near is near in both.

self        the patch itself
row, column another patch of the same row, of the same column
local       at most LOCAL patches away in each direction: what is not local is global
distance    in patches, the larger of both directions; of the weight that goes to patches
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.looking.line import Line

LOCAL = 1


def places(line: Line, start: int, count: int) -> dict[str, Bool[Tensor, "t S"]]:
    """Where each role would look from some rows; whoever is no patch has none of these."""
    (tall, wide), lies = _where(line, start, count)
    asked = torch.arange(start, start + count)[:, None]
    same = torch.arange(len(line))[None] == asked
    row, column = ((one == other) & (one >= 0) for one, other in (tall, wide))
    return {"self": same, "row": row & ~same & lies, "column": column & ~same & lies}


def away(line: Line, start: int, count: int) -> tuple[Float[Tensor, "t S"], Bool[Tensor, "t S"]]:
    """How far each patch is from each row, in patches, and which of them are patches both."""
    (tall, wide), lies = _where(line, start, count)
    found = torch.maximum((tall[0] - tall[1]).abs(), (wide[0] - wide[1]).abs())
    return found.masked_fill(~lies, 0).double(), lies


def _where(line: Line, start: int, count: int) -> tuple[list[tuple[Tensor, Tensor]], Bool[Tensor, "t S"]]:
    """Rows and columns of those that ask (down) and of all (across), −1 for those that are no patch."""
    assert line.grid is not None
    rows, columns = line.grid
    number = torch.arange(len(line)) - (len(line) - rows * columns)
    is_patch = number >= 0
    asked = slice(start, start + count)
    pairs = []
    for one in (number.div(columns, rounding_mode="floor"), number % columns):
        here = one.masked_fill(~is_patch, -1)
        pairs.append((here[asked, None], here[None]))
    return pairs, is_patch[asked, None] & is_patch[None]
