"""The tensors of a model by name: each once, also where it is used twice."""

import torch
from torch import Tensor, nn

from regard.errors import InputError


def named(model: nn.Module) -> dict[str, Tensor]:
    """Parameters, and the buffers that are learnt."""
    kept = model.state_dict(keep_vars=True)
    buffers = {name: buffer for name, buffer in model.named_buffers() if name in kept}
    return dict(model.named_parameters()) | buffers


def fit(model: nn.Module, shapes: dict[str, list[int]]) -> None:
    """Refuse weights that are not those of this model."""
    wanted = {name: list(tensor.shape) for name, tensor in named(model).items()}
    for name in wanted | shapes:
        if wanted.get(name) != shapes.get(name):
            raise InputError(
                f"{name}: the weights have {shapes.get(name, 'no such tensor')}, "
                f"the recipe asks for {wanted.get(name, 'none')}: they do not belong together"
            )


@torch.no_grad()
def fill(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Copy weights into a model of the same recipe."""
    fit(model, {name: list(tensor.shape) for name, tensor in weights.items()})
    for name, tensor in named(model).items():
        tensor.copy_(weights[name])
