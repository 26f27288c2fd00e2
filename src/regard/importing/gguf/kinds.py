"""In how few bits a tensor's numbers can stand, and how they become float32 again."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import InputError

AT_ONCE = 2**16  # numbers; what is made on the way stays in the cache of a core


@dataclass(frozen=True)
class Kind:
    """`block` numbers stand in `size` bytes."""

    number: int
    name: str
    block: int
    size: int


KINDS = {
    number: Kind(number, name, block, size)
    for number, name, block, size in (
        (0, "F32", 1, 4),
        (1, "F16", 1, 2),
        (30, "BF16", 1, 2),
        (8, "Q8_0", 32, 34),
        (2, "Q4_0", 32, 18),
        (3, "Q4_1", 32, 20),
        (6, "Q5_0", 32, 22),
        (7, "Q5_1", 32, 24),
        (10, "Q2_K", 256, 84),
        (11, "Q3_K", 256, 110),
        (12, "Q4_K", 256, 144),
        (13, "Q5_K", 256, 176),
        (14, "Q6_K", 256, 210),
        (20, "IQ4_NL", 32, 18),
        (23, "IQ4_XS", 256, 136),
    )
}
PLAIN = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def numbers(content: NDArray[np.uint8], kind: Kind, shape: tuple[int, ...]) -> Tensor:
    """The numbers of a tensor from its bytes, which are as many as its shape asks for."""
    if kind.name in PLAIN:
        return torch.from_numpy(content.copy()).view(PLAIN[kind.name]).view(shape)
    dequantize = _dequantize(kind)
    out = np.empty(len(content) // kind.size * kind.block, dtype=np.float32)
    step = AT_ONCE // kind.block
    for first in range(0, len(content) // kind.size, step):
        piece = content[first * kind.size : (first + step) * kind.size]
        with np.errstate(all="ignore"):  # what is no number is told of all numbers together
            out[first * kind.block : (first + step) * kind.block] = dequantize(piece)
    return torch.from_numpy(out).view(shape)


def _dequantize(kind: Kind) -> Callable[[NDArray[np.uint8]], NDArray[np.float32]]:
    try:
        from gguf.constants import GGMLQuantizationType
        from gguf.quants import dequantize
    except ImportError as error:
        raise InputError("GGUF files in few bits need the package gguf: pip install 'regard[import]'") from error
    return lambda content: dequantize(content, GGMLQuantizationType(kind.number))
