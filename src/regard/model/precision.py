"""Types of numbers: where sums must be wider than what is summed."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn

HALF = (torch.bfloat16, torch.float16)


def wide(x: Tensor) -> Tensor:
    """The same in float32 where it is in half precision: long sums of halves lose what is added, or overflow."""
    return x.float() if x.dtype in HALF else x


def is_rounded(device: torch.device) -> bool:
    """Whether autocast rounds the products of a device; not every device has it."""
    return torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type)


def rounded_to(x: Tensor) -> torch.dtype:
    """The type in which a product of this tensor will be computed: its own, or that of autocast."""
    autocast = x.dtype != torch.float64 and is_rounded(x.device)
    return torch.get_autocast_dtype(x.device.type) if autocast else x.dtype


def fitting(x: Tensor, product: nn.Module) -> Tensor:
    """In the type of the weights that it will be multiplied by; whoever rounds weights rounds what comes in, too."""
    return x.to(product.weight.dtype) if isinstance(product, nn.Linear) else x


def as_it_is(device: torch.device) -> AbstractContextManager[None]:
    """Products in the type that their factors have, whatever autocast says."""
    return torch.autocast(device.type, enabled=False) if is_rounded(device) else nullcontext()
