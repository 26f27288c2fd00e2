"""Sound beginnings for every stack."""

import math

import torch
from torch import Tensor, nn

from regard.model.attention import LinearAttention, Multihead
from regard.model.mlp import Experts, Gelu, Relu, Swiglu
from regard.model.recurrent import Cell, Lstm
from regard.model.residual import Pre
from regard.model.transformer.layer import TransformerLayer
from regard.model.vision import Patches


def initialise(model: nn.Module) -> None:
    """Weights that keep signals and gradients of one size, whatever the depth."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            _matrix(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        elif isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, Cell):
            _cell(module)
        elif isinstance(module, Experts):
            _matrix(module.up)
            _matrix(module.down)
        elif isinstance(module, Patches) and module.cls is not None:
            nn.init.normal_(module.cls, std=0.02)
    _even_out([module for module in model.modules() if isinstance(module, TransformerLayer)])


def _matrix(weight: Tensor) -> None:
    """Variance 2 / (inputs + outputs) [Glorot & Bengio 2010]."""
    bound = math.sqrt(6 / sum(weight.shape[-2:]))
    nn.init.uniform_(weight, -bound, bound)


def _cell(cell: Cell) -> None:
    """Orthogonal over time; an LSTM begins by remembering."""
    _matrix(cell.weight_ih)
    for gate in cell.weight_hh.chunk(cell.gates):
        nn.init.orthogonal_(gate)
    nn.init.zeros_(cell.bias_ih)
    nn.init.zeros_(cell.bias_hh)
    if isinstance(cell, Lstm):
        with torch.no_grad():
            cell.bias_ih[cell.width : 2 * cell.width] = 1.0


def _even_out(layers: list[TransformerLayer]) -> None:
    """In a pre-norm stack every sub-layer adds to one stream: each begins the smaller, the deeper [GPT-2]."""
    for layer in layers:
        if not isinstance(layer.around_mlp, Pre):
            continue
        ends = [
            part.output.weight
            for part in (layer.attention, layer.cross)
            if isinstance(part, Multihead | LinearAttention)
        ]
        if isinstance(layer.mlp, Relu | Gelu | Swiglu):
            ends.append(layer.mlp.down.weight)
        elif isinstance(layer.mlp, Experts):
            ends.append(layer.mlp.down)
        with torch.no_grad():
            for weight in ends:
                weight.mul_((2 * len(layers)) ** -0.5)
