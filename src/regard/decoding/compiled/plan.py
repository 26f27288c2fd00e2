"""What of a model the compiled step covers, and where its weights are."""

import numpy as np
import torch
from torch import Tensor, nn

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.shape import norm_of, shape_of
from regard.decoding.compiled.weights import Weights, need
from regard.model.assembly import Embedding
from regard.model.attention import Multihead
from regard.model.mlp import Experts, Gelu, Mlp, Relu, Swiglu
from regard.model.norms import LayerNorm, RmsNorm
from regard.model.positions import Alibi, Learned, Nowhere, Rotary, Sinusoidal
from regard.model.transformer import TransformerDecoder, TransformerEncoder
from regard.model.transformer.layer import TransformerLayer

EMBEDDED: tuple[type, ...] = (Nowhere, Sinusoidal, Learned)
STACKS: dict[type, tuple[type, ...]] = {TransformerDecoder: (*EMBEDDED, Rotary, Alibi), TransformerEncoder: EMBEDDED}
"""What is covered, and with which positions."""


def embedding_of(part: nn.Module) -> Embedding:
    """Exactly an embedding, which nobody has hooked into."""
    need(type(part) is Embedding)
    assert isinstance(part, Embedding)
    need(not any(each._forward_hooks or each._forward_pre_hooks for each in part.modules()))
    return part


class Plan:
    """The tables of a model's sizes and weights, as the machine code reads them.

    Whatever is not exactly a part of the menu, or has somebody's hook on it, raises NotCoveredError.
    """

    def __init__(self, stack: nn.Module, width: int, scale: float = 1.0, *, first: int | None = None) -> None:
        """Vectors have this width and this scale; of the `first` so many layers there is no norm at the end."""
        need(type(stack) in STACKS)
        assert isinstance(stack, TransformerDecoder | TransformerEncoder)
        layers = list(stack.layers)[:first]
        need(type(stack.positions) in STACKS[type(stack)] and len(layers) > 0)
        self._stack, self.positions, self.width = stack, stack.positions, width
        need(not self.hooked)
        self.shape, self.layers, self.weights = shape_of(layers[0]), len(layers), Weights()
        self._lines = np.array([self._layer(layer) for layer in layers])
        scales = self.shape.heads.scale, self.shape.cross.scale, scale
        self._numbers = np.array([self.shape.around.eps, *scales], np.float32)
        self._slopes = stack.positions.slopes(self.shape.heads.all)
        self.call = self._call(stack.close if first is None else nn.Identity())
        self._taps = [each.tap for layer in layers for each in (layer.attention, layer.cross) if each]
        self.weights.settle()
        self._dropping = [part for part in stack.modules() if getattr(part, "dropout", 0.0)]

    @property
    def hooked(self) -> bool:
        """Whether somebody has a hook on a part."""
        return any(part._forward_hooks or part._forward_pre_hooks for part in self._stack.modules())

    @property
    def holds(self) -> bool:
        """Whether nobody watches, all heads are on, and nothing is dropped by chance."""
        return all(tap.idle for tap in self._taps) and not any(part.training for part in self._dropping)

    def places(self, needed: int) -> Tensor | None:
        """The vectors of at least so many positions, where these are added to those of tokens."""
        positions = self.positions
        if isinstance(positions, Sinusoidal):
            return positions.waves(needed, torch.device("cpu"))
        return positions.table.weight if isinstance(positions, Learned) else None

    def pack(self) -> None:
        """Have the weights of many rows packed, anew where they were changed."""
        matrices = self._lines[:, : 8 * at.MATRIX].reshape(-1, at.MATRIX)
        self.weights.pack(matrices)
        self._lines[:, : 8 * at.MATRIX] = matrices.reshape(len(self._lines), -1)

    @property
    def packed(self) -> bool:
        """Whether weights are packed."""
        return bool(self._lines[:, at.QUERY + at.PACKED].any())

    @property
    def rounded(self) -> bool:
        """Whether weights have eight bits."""
        return bool(self._lines[:, at.QUERY + at.SCALES].any())

    def _call(self, close: nn.Module) -> list[int]:
        """What is the same at every step."""
        shape, call = self.shape, [0] * at.CALL_SIZE
        call[at.LAYERS], call[at.WIDTH] = self.layers, self.width
        call[at.HEADS : at.HEAD_WIDTH + 1] = shape.heads[:3]
        call[at.CROSS_HEADS : at.CROSS_HEAD_WIDTH + 1] = shape.cross[:3]
        call[at.ACTIVATION : at.AMONG_ALL + 1] = shape.mlp
        call[at.NORM_KIND], call[at.RESIDUAL] = shape.around.norm, shape.around.residual
        call[at.LAYER_TABLE], call[at.NUMBERS] = self._lines.ctypes.data, self._numbers.ctypes.data
        call[at.SLOPES] = 0 if self._slopes is None else self._slopes.data_ptr()
        if type(close) is not nn.Identity:
            call[at.CLOSES], call[at.CLOSE_NORM : at.CLOSE_NORM + at.NORM] = 1, self._norm(close)
        return call

    def _layer(self, layer: TransformerLayer) -> list[int]:
        """The weights of one layer, which is made as the first one is."""
        need(shape_of(layer) == self.shape)
        heads, width, line = self.shape.heads, self.width, [0] * at.LAYER_SIZE
        attention, cross = layer.attention, layer.cross
        assert isinstance(attention, Multihead)
        line[at.UP : at.ROUTE + at.MATRIX] = self._mlp(layer.mlp)
        matrices: dict[int, tuple[nn.Module, int, int]] = {
            at.QUERY: (attention.query, heads.inside, width),
            at.KEY_VALUE: (attention.key_value, 2 * heads.groups * heads.width, width),
            at.OUTPUT: (attention.output, width, heads.inside),
        }
        norms = {at.NORM_ATTENTION: layer.around_attention.norm, at.NORM_MLP: layer.around_mlp.norm}
        if cross is not None and layer.around_cross is not None:
            assert isinstance(cross, Multihead)
            matrices[at.CROSS_QUERY] = cross.query, self.shape.cross.inside, width
            matrices[at.CROSS_OUTPUT] = cross.output, width, self.shape.cross.inside
            norms[at.NORM_CROSS] = layer.around_cross.norm
        for place, matrix in matrices.items():
            line[place : place + at.MATRIX] = self.weights.matrix(*matrix)
        for place, norm in norms.items():
            line[place : place + at.NORM] = self._norm(norm)
        return line

    def _mlp(self, mlp: Mlp) -> list[int]:
        """Its matrices, up, down and the router's; those of all experts follow each other."""
        inside, width, weights = self.shape.mlp, self.width, self.weights
        outputs = 2 * inside.hidden if inside.activation == at.SWIGLU else inside.hidden
        if isinstance(mlp, Experts):
            up = weights.address(mlp.up, inside.experts, outputs, width)
            down = weights.address(mlp.down, inside.experts, width, inside.hidden)
            nothing = [0] * (at.MATRIX - 1)
            return [up, *nothing, down, *nothing, *weights.matrix(mlp.route, inside.experts, width)]
        assert isinstance(mlp, Relu | Gelu | Swiglu)
        first = mlp.gate_up if isinstance(mlp, Swiglu) else mlp.up
        both = [*weights.matrix(first, outputs, width), *weights.matrix(mlp.down, width, inside.hidden)]
        return [*both, *[0] * at.MATRIX]

    def _norm(self, norm: nn.Module) -> list[int]:
        need(norm_of(norm) == self.shape.around[1:])
        assert isinstance(norm, LayerNorm | RmsNorm)
        bias = norm.bias if isinstance(norm, LayerNorm) else None
        return [self.weights.address(norm.weight, self.width), self.weights.address(bias, self.width)]
