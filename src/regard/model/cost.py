"""What a model costs, found by running it on tensors without numbers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

aten = torch.ops.aten


@contextmanager
def imagined() -> Iterator[None]:
    """Within, tensors have shapes but no numbers: nothing is computed, nothing is stored."""
    from torch._subclasses.fake_tensor import FakeTensorMode  # seconds, of which much is sympy

    with FakeTensorMode(allow_non_fake_inputs=True):
        yield


class Flops(TorchDispatchMode):
    """Counts the multiplications and additions of all matrix products, two for each pair.

    Fused attention is counted as if nothing were masked, as is usual.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        count = _OWN.get(func._overloadpacket)
        if count is not None:
            self.total += count(*args)
        elif func._overloadpacket in flop_registry:
            self.total += flop_registry[func._overloadpacket](*args, **(kwargs or {}), out_val=out)
        return out


def _fused_attention(queries: Tensor, keys: Tensor, values: Tensor, *_: Any) -> int:
    rows, heads, length, width = queries.shape
    return 2 * rows * heads * length * keys.shape[2] * (width + values.shape[3])


def _fused_lstm(x: Tensor, weight_ih: Tensor, weight_hh: Tensor, *_: Any) -> int:
    return 2 * x.shape[0] * x.shape[1] * (weight_ih.numel() + weight_hh.numel())


def _grouped_product(x: Tensor, weight: Tensor, *_: Any) -> int:
    return 2 * x.shape[0] * weight.shape[1] * weight.shape[2]


_OWN: dict[Any, Callable[..., int]] = {
    aten._scaled_dot_product_flash_attention_for_cpu: _fused_attention,
    aten.mkldnn_rnn_layer: _fused_lstm,
    torch.ops.regard.grouped: _grouped_product,
}


def kept_for_backward(run: Callable[[], Any], model: nn.Module) -> int:
    """Bytes of activations that a forward pass keeps for the backward pass."""
    owned = {parameter.untyped_storage()._cdata for parameter in model.parameters()}
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in owned:
            kept[storage._cdata] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        run()
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())
