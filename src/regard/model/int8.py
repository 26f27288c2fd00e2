"""Matrix products in eight bits, for decoding on a CPU.

Weights are rounded once, a scale for every row; what comes in is rounded at each call, one scale for
all of it, so results depend a little on what is translated together. The one place that knows torch's
quantised operators: they are on their way out of torch, and torchao can take over here.
"""

from warnings import catch_warnings, simplefilter

import torch
from jaxtyping import Float, Int, Int8
from torch import Tensor, nn

MOST = 64  # seven bits for weights, eight for what comes in: AVX2 adds 2 · 64 · 255 in 16 bits, and no more


class Rounded(nn.Module):
    """A linear layer in eight bits."""

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
    def of(cls, linear: nn.Linear) -> "Rounded":
        weight = linear.weight.detach()
        scales = (weight.abs().amax(1) / MOST).clamp(min=1e-12)
        rows = (weight / scales[:, None]).round().to(torch.int8)
        return cls(rows, scales, None if linear.bias is None else linear.bias.detach())

    def forward(self, x: Float[Tensor, "*N I"]) -> Float[Tensor, "*N O"]:
        out: Tensor = torch.ops.quantized.linear_dynamic(x, self._packed, False)
        return out

    def some(self, chosen: Int[Tensor, "C"]) -> "Rounded":
        """Only some of the rows."""
        return Rounded(self.rows[chosen], self.scales[chosen], None if self.bias is None else self.bias[chosen])


class Chosen(nn.Module):
    """Some rows of a linear layer, as a head that knows only some words."""

    def __init__(self, linear: nn.Linear, chosen: Int[Tensor, "C"]) -> None:
        super().__init__()
        self.weight = linear.weight.detach()[chosen]
        self.bias = None if linear.bias is None else linear.bias.detach()[chosen]

    def forward(self, x: Float[Tensor, "*N I"]) -> Float[Tensor, "*N C"]:
        return nn.functional.linear(x, self.weight, self.bias)


def narrowed(head: nn.Module, chosen: Int[Tensor, "C"]) -> nn.Module:
    """A head over some words only."""
    if isinstance(head, Rounded):
        return head.some(chosen)
    assert isinstance(head, nn.Linear)
    return Chosen(head, chosen)


def rounded(model: nn.Module) -> None:
    """Every linear layer of a model in eight bits, in place; for use, not for training."""
    for name, part in list(model.named_children()):
        if isinstance(part, nn.Linear):
            setattr(model, name, Rounded.of(part))
        else:
            rounded(part)
