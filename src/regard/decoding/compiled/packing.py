"""Weights of a product as panels: many rows are multiplied by them as they lie.

In eight bits they lie in pairs of columns; those of translators, whose rows have no numbers that stick out, in quads of
seven bits, for rows in seven bits (`source/eighths.py`).
"""

from collections.abc import Iterable
from itertools import count
from threading import Lock
from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from jaxtyping import Shaped
from torch import Tensor, nn

from regard.allocator import use_large_pages
from regard.decoding.compiled import layout as at
from regard.decoding.compiled.machine_code import packs_eighths, panel_width
from regard.model.quantize import FINEST, QuantizedLinear

SEVEN, MIDDLE = 63, 64  # seven bits: the largest weight, and what rows are shifted by
LEAST = 4  # rows: fewer read weights as they stand
MOST = 2**28  # bytes of all weights: those of larger models are not held twice
SOURCES = WeakKeyDictionary[nn.Module, "Panels"]()
LOCK = Lock()
NEVER_THE_SAME = count(-1, -1)


class Stated(NamedTuple):
    """Weights as they stood when they were packed: where, how often they had been changed, of what shape."""

    address: int
    version: int
    shape: torch.Size


class Panels(NamedTuple):
    """Weights, scales and bias, outputs of a panel behind each other; what sums begin with; what it was made of."""

    weights: Tensor
    scales: Tensor | None
    bias: Tensor
    begins: Tensor | None
    of: "Stated"

    @property
    def addresses(self) -> list[int]:
        """As the machine code wants them."""
        return [0 if each is None else each.data_ptr() for each in self[:4]]


def small(linears: Iterable[nn.Module]) -> bool:
    """Whether so many products may be held twice."""
    return sum(stated(linear).nbytes for linear in linears) <= MOST


def wants_panels(linear: nn.Module, rows: int) -> bool:
    """Whether so many rows are multiplied by panels: many of them, or any where nothing else rounds as panels do."""
    return rows >= LEAST or (isinstance(linear, QuantizedLinear) and linear.rounds_inputs and packs_eighths())


def panels(linear: nn.Module) -> Panels | None:
    """The panels of a product, made once; None where the processor has other ways for it."""
    if isinstance(linear, QuantizedLinear) and not packs_eighths():
        return None
    of = stand(linear)
    with LOCK:
        found = SOURCES.get(linear)
        if found is None or found.of != of:
            found = SOURCES[linear] = _made(linear, of)
    return found


def stand(linear: nn.Module) -> Stated:
    """How the weights of a product stand now.

    How often they were changed: rounded ones never are, and of those made in inference mode nobody knows.
    """
    weight = stated(linear)
    if isinstance(linear, QuantizedLinear):
        changed = 0
    else:
        changed = next(NEVER_THE_SAME) if weight.is_inference() else weight._version
    return Stated(weight.data_ptr(), changed, weight.shape)


def stated(linear: nn.Module) -> Tensor:
    """The weights as they stand."""
    weight = linear.rows if isinstance(linear, QuantizedLinear) else linear.weight
    assert isinstance(weight, Tensor)
    return weight


def _made(linear: nn.Module, of: Stated) -> Panels:
    weight = stated(linear).detach()
    given = linear.bias.detach() if isinstance(linear.bias, Tensor) else torch.zeros(len(weight))
    scales = begins = None
    if isinstance(linear, QuantizedLinear):
        weight, scales = F.pad(weight, (0, -weight.shape[1] % at.BLOCK)), linear.scales
        if linear.rounds_inputs:
            weight, scales = (weight * (SEVEN / FINEST)).round().to(torch.int8), scales * (FINEST / SEVEN)
            begins = laid(-MIDDLE * weight.unflatten(1, (-1, at.BLOCK)).sum(2, dtype=torch.int32))
        panels = laid(weight.unflatten(1, (-1, 4 if linear.rounds_inputs else 2)))
    else:
        panels = laid(weight)
    use_large_pages([(panels.data_ptr(), panels.nbytes)])
    return Panels(panels, None if scales is None else laid(scales), laid(given), begins, of)


def laid(x: Shaped[Tensor, "O *N"]) -> Shaped[Tensor, "P *M"]:
    """Outputs in panels: column by column those of a panel, the last of which is filled up with zeros."""
    width = panel_width()
    more = x.new_zeros(-len(x) % width, *x.shape[1:])
    whole: Tensor = torch.cat([x, more]).unflatten(0, (-1, width))
    return (whole.transpose(1, 2) if x.ndim > 1 else whole).contiguous()
