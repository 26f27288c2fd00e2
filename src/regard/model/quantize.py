"""Matrix products in eight bits, for decoding on a CPU.

Weights are rounded once, a scale for every block of columns in a row. As they stand they are what the compiled step
multiplies, or packs (`decoding/compiled/packing.py`). Where there is none, they are packed for many rows of a
translator as torch's products want them, too: seven bits and a scale a row; what comes in is then rounded at each call,
one scale for all of it, so results depend a little on what is translated together. In language models a few tokens have
numbers that stick out a thousandfold, and such a scale leaves nothing of the others: SmolLM2's perplexity grows by
62 %. There many rows are multiplied by the rounded weights as numbers, which are written out for each product. The one
place that knows torch's quantised operators: they are on their way out of torch, and torchao can take over here.
"""

from collections.abc import Callable
from typing import Any
from warnings import catch_warnings, simplefilter

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Int8
from torch import Tensor, nn

from regard.errors import InputError
from regard.model.assembly import LanguageModel

BLOCK = 64  # columns that share a scale: one weight that sticks out spoils no more than these
FINEST = 127
MOST = 64  # seven bits for weights, eight for what comes in: AVX2 adds 2 · 64 · 255 in 16 bits, and no more
LEAST = 1e-12  # of a scale, where all weights are zero


class QuantizedLinear(nn.Module):
    """A linear layer in eight bits: y = scale_w · (x · round(W/scale_w)) + b, where x may be rounded like W.

    `product` is a faster way that whoever decodes may know of; it gives None where it has none.
    """

    product: "Product | None" = None

    def __init__(
        self, rows: Int8[Tensor, "O I"], scales: Float[Tensor, "O b"], bias: Tensor | None, rounds_inputs: bool = True
    ) -> None:
        super().__init__()
        self.rows, self.scales, self.bias, self.rounds_inputs = rows, scales, bias, rounds_inputs
        self.in_features, self.out_features = rows.shape[1], rows.shape[0]
        self._packed = self._pack() if rounds_inputs else None

    def _pack(self) -> Any:
        """As torch's products want it."""
        weight = self.weight()
        whole = (weight.abs().amax(1) / MOST).clamp(min=LEAST)
        seven = (weight / whole[:, None]).round().to(torch.int8)
        with catch_warnings():
            simplefilter("ignore")  # torch announces their end at every use
            zeros = torch.zeros(len(whole), dtype=torch.long)
            packed = torch._make_per_channel_quantized_tensor(seven, whole.double(), zeros, 0)
        return torch.ops.quantized.linear_prepack(packed, self.bias)

    @classmethod
    def of(cls, linear: nn.Linear, rounds_inputs: bool = True) -> "QuantizedLinear":
        """The same layer with its weights rounded."""
        weight = linear.weight.detach()
        size = weight.shape[1]
        blocks = F.pad(weight, (0, -size % BLOCK)).unflatten(1, (-1, BLOCK))
        scales = (blocks.abs().amax(2) / FINEST).clamp(min=LEAST)
        rows = (blocks / scales[..., None]).round().to(torch.int8).flatten(1)[:, :size].contiguous()
        return cls(rows, scales, None if linear.bias is None else linear.bias.detach(), rounds_inputs)

    def weight(self) -> Float[Tensor, "O I"]:
        """The rounded weights as numbers."""
        if self.in_features % BLOCK:
            return self.rows * self.scales.repeat_interleave(BLOCK, 1)[:, : self.in_features]
        written: Tensor = self.rows.float()
        written.unflatten(1, (-1, BLOCK)).mul_(self.scales[..., None])
        return written

    def forward(self, x: Float[Tensor, "*N I"]) -> Float[Tensor, "*N O"]:
        _refuse(x.device)
        found = None if self.product is None else self.product(self, x)
        if found is not None:
            return found
        if self._packed is None:
            return F.linear(x, self.weight(), self.bias)
        try:
            out: Tensor = torch.ops.quantized.linear_dynamic(x, self._packed, False)
        except RuntimeError:
            if x.isfinite().all():
                raise
            return x.new_full((*x.shape[:-1], self.out_features), torch.nan)  # as in all other types
        return out

    def select(self, chosen: Int[Tensor, "C"]) -> "QuantizedLinear":
        """Only some of the rows."""
        bias = None if self.bias is None else self.bias[chosen]
        return QuantizedLinear(self.rows[chosen], self.scales[chosen], bias, self.rounds_inputs)


Product = Callable[[QuantizedLinear, Tensor], Tensor | None]


def quantize(model: nn.Module) -> None:
    """Every linear layer of a model in eight bits, in place; for use on a CPU, not for training."""
    for parameter in model.parameters():
        _refuse(parameter.device)
    for owner in list(model.modules()):
        for name, part in list(owner.named_children()):
            if isinstance(part, nn.Linear):
                setattr(owner, name, QuantizedLinear.of(part, not isinstance(model, LanguageModel)))


def _refuse(device: torch.device) -> None:
    if device.type != "cpu":
        raise InputError(f"int8: eight-bit products run on a CPU, and this model is on {device}; leave out int8")
