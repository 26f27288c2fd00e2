"""A head that knows only some of its words."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.quantize import QuantizedLinear


class SelectedRows(nn.Module):
    """Some rows of a linear layer, for use and not for training."""

    def __init__(self, linear: nn.Linear, chosen: Int[Tensor, "C"]) -> None:
        super().__init__()
        self.weight = linear.weight.detach()[chosen]
        self.bias = None if linear.bias is None else linear.bias.detach()[chosen]
        self.in_features, self.out_features = linear.in_features, len(chosen)

    def forward(self, x: Float[Tensor, "*N I"]) -> Float[Tensor, "*N C"]:
        return nn.functional.linear(x, self.weight, self.bias)


def select_rows(head: nn.Module, chosen: Int[Tensor, "C"]) -> nn.Module:
    """A head over some words only, in as many bits as it has."""
    if isinstance(head, QuantizedLinear):
        return head.select(chosen)
    assert isinstance(head, nn.Linear)
    return SelectedRows(head, chosen)
