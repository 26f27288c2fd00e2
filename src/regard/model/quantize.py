"""Matrix products in eight bits, for decoding on a CPU.

Weights are rounded once, a scale for every row; what comes in is rounded at each call, one scale for
all of it, so results depend a little on what is translated together. The one place that knows torch's
quantised operators: they are on their way out of torch, and torchao can take over here.
"""

from warnings import catch_warnings, simplefilter

import torch
from jaxtyping import Float, Int, Int8
from torch import Tensor, nn

from regard.errors import InputError

MOST = 64  # seven bits for weights, eight for what comes in: AVX2 adds 2 · 64 · 255 in 16 bits, and no more


class QuantizedLinear(nn.Module):
    """A linear layer in eight bits: y = scale_x · scale_w · (round(x/scale_x) · round(W/scale_w)) + b."""

    def __init__(self, rows: Int8[Tensor, "O I"], scales: Float[Tensor, "O"], bias: Tensor | None) -> None:
        super().__init__()
        self.rows, self.scales, self.bias = rows, scales, bias
        self.in_features, self.out_features = rows.shape[1], rows.shape[0]
        zeros = torch.zeros(len(scales), dtype=torch.long)
        with catch_warnings():
            simplefilter("ignore")  # torch announces their end at every use
            weight = torch._make_per_channel_quantized_tensor(rows, scales.double(), zeros, 0)
        self._packed = torch.ops.quantized.linear_prepack(weight, bias)

    @classmethod
    def of(cls, linear: nn.Linear) -> "QuantizedLinear":
        """The same layer with its weights rounded."""
        weight = linear.weight.detach()
        scales = (weight.abs().amax(1) / MOST).clamp(min=1e-12)
        rows = (weight / scales[:, None]).round().to(torch.int8)
        return cls(rows, scales, None if linear.bias is None else linear.bias.detach())

    def forward(self, x: Float[Tensor, "*N I"]) -> Float[Tensor, "*N O"]:
        _refuse(x.device)
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
        return QuantizedLinear(self.rows[chosen], self.scales[chosen], bias)


def quantize(model: nn.Module) -> None:
    """Every linear layer of a model in eight bits, in place; for use on a CPU, not for training."""
    for parameter in model.parameters():
        _refuse(parameter.device)
    for name, part in list(model.named_children()):
        if isinstance(part, nn.Linear):
            setattr(model, name, QuantizedLinear.of(part))
        else:
            quantize(part)


def _refuse(device: torch.device) -> None:
    if device.type != "cpu":
        raise InputError(f"int8: eight-bit products run on a CPU, and this model is on {device}; leave out int8")
