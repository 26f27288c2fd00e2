"""Sound beginnings for every stack."""

import torch
from torch import nn

from regard.model.mechanism import Block, Mechanism, glorot


def initialise(model: nn.Module) -> None:
    """Weights that keep signals and gradients of one size, whatever the depth.

    The rules here are for torch's own modules; every mechanism knows its own.
    """
    for module in model.modules():
        if isinstance(module, Mechanism):
            module.initial()
        elif isinstance(module, nn.Linear):
            glorot(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        elif isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    _even_out([module for module in model.modules() if isinstance(module, Block) and module.ends()])


@torch.no_grad()
def _even_out(layers: list[Block]) -> None:
    """Where every sub-layer adds to one stream, each begins the smaller, the deeper the model [GPT-2]."""
    for layer in layers:
        for weight in layer.ends() if layer.adds else ():
            weight.mul_((2 * len(layers)) ** -0.5)
