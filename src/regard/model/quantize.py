"""Matrix products in eight bits, for decoding on a CPU.

Weights are rounded once, and what they are multiplied by at each call, with a scale for every block of columns in a
row: so a row gives the same numbers whatever is multiplied beside it, and a number that sticks out spoils its own block
alone. The compiled products do this in whole numbers. Without them a language model's weights are written out as
numbers for each product; those of other models are packed as torch's products want them, with seven bits and a scale a
row on both sides. In language models a few tokens have numbers that stick out a thousandfold, and a scale a row would
leave little of the others. The one place that knows torch's quantised operators: they are on their way out of torch,
and torchao can take over here.
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
LEAST, TINY = 1e-12, 1e-30  # of a scale, where all weights are zero; where all that comes in is
ENDS = (-(FINEST + 1) / FINEST, 1.0)  # of what torch's products round: steps of 1 / 127, zero among them


class QuantizedLinear(nn.Module):
    """A linear layer in eight bits: y = scale_w · scale_x · (round(x/scale_x) · round(W/scale_w)) + b.

    `product` is a faster way that whoever decodes may know of; it gives None where it has none. `rounds_inputs` says
    that rows have no numbers that stick out, so that a scale for all of a row will do.
    """

    product: "Product | None" = None

    def __init__(
        self, rows: Int8[Tensor, "O I"], scales: Float[Tensor, "O b"], bias: Tensor | None, rounds_inputs: bool = True
    ) -> None:
        super().__init__()
        self.rows, self.scales, self.bias, self.rounds_inputs = rows, scales, bias, rounds_inputs
        self.in_features, self.out_features = rows.shape[1], rows.shape[0]
        self._packed: Any = None

    def _pack(self) -> Any:
        """As torch's products want it; behind each row are the weights of `ENDS`, which count nothing."""
        weight = self.weight()
        whole = (weight.abs().amax(1) / MOST).clamp(min=LEAST)
        seven = F.pad((weight / whole[:, None]).round().to(torch.int8), (0, len(ENDS)))
        with catch_warnings():
            simplefilter("ignore")  # torch announces their end at every use
            zeros = torch.zeros(len(whole), dtype=torch.long)
            packed = torch._make_per_channel_quantized_tensor(seven, whole.double(), zeros, 0)
        return torch.ops.quantized.linear_prepack(packed, None)

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
        if not self.rounds_inputs:
            return F.linear(in_eight_bits(x), self.weight(), self.bias)
        if self._packed is None:
            self._packed = self._pack()
        most = x.abs().amax(-1, keepdim=True)
        real = most.isfinite()
        scale = torch.where(real, most.clamp(min=LEAST), torch.nan)
        # torch rounds all rows by their least and largest number: these ends are the same for any
        ends = x.new_tensor(ENDS).expand(*x.shape[:-1], -1)
        given = torch.cat([torch.where(real, x / scale, 0), ends], -1)
        out: Tensor = torch.ops.quantized.linear_dynamic(given, self._packed, False).mul_(scale)
        return out if self.bias is None else out.add_(self.bias)

    def select(self, chosen: Int[Tensor, "C"]) -> "QuantizedLinear":
        """Only some of the rows."""
        bias = None if self.bias is None else self.bias[chosen]
        return QuantizedLinear(self.rows[chosen], self.scales[chosen], bias, self.rounds_inputs)


Product = Callable[[QuantizedLinear, Tensor], Tensor | None]


def in_eight_bits(x: Float[Tensor, "*N I"]) -> Float[Tensor, "*N I"]:
    """What eight bits hold of rows of numbers, with a scale for every block of columns."""
    blocks = F.pad(x, (0, -x.shape[-1] % BLOCK)).unflatten(-1, (-1, BLOCK))
    scales = blocks.abs().amax(-1, keepdim=True) / FINEST + TINY
    held: Tensor = (blocks * (1 / scales)).round() * scales
    return held.flatten(-2)[..., : x.shape[-1]]


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
