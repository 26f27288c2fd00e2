"""Numbers as bytes for a browser: small, and as exact as the eye and the reader need.

A table is a head of five whole numbers (rows, columns, how many rows and how many columns a cell stands for, bytes a
cell) and its cells. A cell holds √w in 16 bits, or in 8: w is off by 1.5·10⁻⁵ or by 0.4 % of 1 at most, small weights
by much less, and a zero is a zero. All first bytes stand before all second ones, which packs better.
"""

import base64
import zlib
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

Bytes = Literal[1, 2]
LEVEL = 6  # of packing: more costs time and saves little


def packed(weights: Float[Tensor, "r C"], stride: tuple[int, int] = (1, 1), size: Bytes = 2) -> bytes:
    """A table of weights from 0 to 1; what is a little beyond by rounding is brought back."""
    rows, columns = weights.shape
    head = np.array([rows, columns, *stride, size], "<u4").tobytes()
    most = 65535 if size == 2 else 255
    cells = weights.detach().float().cpu().nan_to_num(0.0, 0.0, 0.0).clamp_(0, 1).sqrt_().mul_(most).round_()
    whole = cells.numpy().astype("u2")
    planes = (whole >> 8, whole) if size == 2 else (whole,)
    return head + b"".join(plane.astype("u1").tobytes() for plane in planes)


def thumbnails(tables: Float[Tensor, "L H r C"]) -> bytes:
    """All heads of a kind, small: a head of four whole numbers, and a byte a cell."""
    cells = tables.clamp(0, 1).sqrt().mul(255).round().to(torch.uint8)
    return np.array(tables.shape, "<u4").tobytes() + cells.numpy().tobytes()


def vectors(*tables: Tensor) -> bytes:
    """Numbers as they are, one table after another, each behind how many rows and columns it has."""
    parts = []
    for table in tables:
        parts.append(np.array(table.shape, "<u4").tobytes())
        parts.append(table.detach().float().cpu().numpy().astype("<f4").tobytes())
    return b"".join(parts)


def in_letters(content: bytes) -> str:
    """Packed bytes as letters, to stand in a document."""
    return base64.b64encode(zlib.compress(content, LEVEL)).decode("ascii")
