"""What of a model the compiled step covers, and where its weights are."""

import numpy as np
from torch import nn

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.weights import Weights, need
from regard.model.assembly import Embedding, Writer
from regard.model.attention import Multihead
from regard.model.mlp import Gelu, Mlp, Relu, Swiglu
from regard.model.norms import LayerNorm, RmsNorm
from regard.model.positions import Alibi, Learned, Nowhere, Rotary, Sinusoidal
from regard.model.residual import NoResidual, Post, Pre
from regard.model.transformer import TransformerDecoder
from regard.model.transformer.layer import TransformerLayer

NORMS: dict[type, int] = {LayerNorm: at.LAYER_NORM, RmsNorm: at.RMS_NORM}
RESIDUALS: dict[type, int] = {Pre: at.PRE, Post: at.POST, NoResidual: at.NO_RESIDUAL}
POSITIONS: tuple[type, ...] = (Nowhere, Sinusoidal, Learned, Rotary, Alibi)
GELUS = {"gelu": at.GELU, "gelu_tanh": at.GELU_TANH}


class Plan:
    """The tables of a model's sizes and weights, as the machine code reads them; what is in none raises.

    Whatever is not exactly a part of the menu, or has somebody's hook on it, is not covered.
    """

    def __init__(self, model: Writer) -> None:
        decoder = model.decoder
        need(type(decoder) is TransformerDecoder and type(model.target) is Embedding)
        assert isinstance(decoder, TransformerDecoder)
        need(type(decoder.positions) in POSITIONS and len(decoder.layers) > 0)
        for part in (*decoder.modules(), *model.target.modules()):
            need(not part._forward_hooks and not part._forward_pre_hooks)
        self.decoder, self.target, self.positions = decoder, model.target, decoder.positions
        self.weights = Weights()
        self.layers = np.zeros((len(decoder.layers), at.LAYER_SIZE), np.int64)
        self.call, self.numbers = [0] * at.CALL_SIZE, np.zeros(3, np.float32)
        self._sizes(decoder)
        for row, layer in zip(self.layers, decoder.layers, strict=True):
            self._layer(row, layer)
        if self.call[at.CLOSES]:
            self.call[at.CLOSE_NORM : at.CLOSE_NORM + at.NORM] = self._norm(decoder.close)
        self.call[at.LAYER_TABLE], self.call[at.NUMBERS] = self.layers.ctypes.data, self.numbers.ctypes.data
        self.slopes = decoder.positions.slopes(self.call[at.HEADS])
        if self.slopes is not None:
            self.call[at.SLOPES] = self.slopes.data_ptr()
        self.taps = [each.tap for layer in decoder.layers for each in (layer.attention, layer.cross) if each]
        self._dropping = [part for part in decoder.modules() if getattr(part, "dropout", 0.0)]

    @property
    def holds(self) -> bool:
        """Whether everything still is where it was, nobody watches, and nothing is dropped by chance."""
        return (
            not any(tap.sights for tap in self.taps)
            and not any(part.training for part in self._dropping)
            and not self.weights.moved
        )

    def _sizes(self, decoder: TransformerDecoder) -> None:
        """What is the same in all layers, read off the first."""
        layer, call = decoder.layers[0], self.call
        norm, attention = layer.around_mlp.norm, layer.attention
        need(type(attention) is Multihead and type(layer.cross) in (Multihead, type(None)))
        need(type(norm) in NORMS and type(layer.around_mlp) in RESIDUALS)
        call[at.LAYERS], call[at.WIDTH] = len(decoder.layers), decoder.out_width
        call[at.HEADS], call[at.GROUPS], call[at.HEAD_WIDTH] = heads(attention)
        if layer.cross is not None:
            call[at.CROSS_HEADS], call[at.CROSS_GROUPS], call[at.CROSS_HEAD_WIDTH] = heads(layer.cross)
            self.numbers[at.CROSS_SCALE] = layer.cross.scale
        call[at.ACTIVATION], call[at.HIDDEN] = activation(layer.mlp)
        call[at.NORM_KIND], call[at.RESIDUAL] = NORMS[type(norm)], RESIDUALS[type(layer.around_mlp)]
        call[at.CLOSES] = int(type(decoder.close) is not nn.Identity)
        need(not call[at.CLOSES] or type(decoder.close) is type(norm))
        self.numbers[at.EPS], self.numbers[at.SCALE] = norm.eps, attention.scale

    def _layer(self, row: "np.ndarray[tuple[int], np.dtype[np.int64]]", layer: TransformerLayer) -> None:
        """The weights of one layer, if it is made as the first one is."""
        call, width = self.call, self.call[at.WIDTH]
        attention, cross, mlp = layer.attention, layer.cross, layer.mlp
        need(type(layer) is TransformerLayer and type(attention) is Multihead)
        inside, groups = call[at.HEADS] * call[at.HEAD_WIDTH], call[at.GROUPS] * call[at.HEAD_WIDTH]
        hidden, across = call[at.HIDDEN], call[at.CROSS_HEADS] * call[at.CROSS_HEAD_WIDTH]
        need(heads(attention) == tuple(call[at.HEADS : at.HEAD_WIDTH + 1]) and self._scales(attention, at.SCALE))
        need(activation(mlp) == (call[at.ACTIVATION], hidden))
        matrices = {
            at.QUERY: (attention.query, inside, width),
            at.KEY_VALUE: (attention.key_value, 2 * groups, width),
            at.OUTPUT: (attention.output, width, inside),
            at.UP: (mlp.gate_up, 2 * hidden, width) if isinstance(mlp, Swiglu) else (mlp.up, hidden, width),
            at.DOWN: (mlp.down, width, hidden),
        }
        arounds = {at.NORM_ATTENTION: layer.around_attention, at.NORM_MLP: layer.around_mlp}
        need((cross is not None) == bool(call[at.CROSS_HEADS]))
        if cross is not None:
            need(type(cross) is Multihead and heads(cross) == tuple(call[at.CROSS_HEADS : at.CROSS_HEAD_WIDTH + 1]))
            need(self._scales(cross, at.CROSS_SCALE))
            matrices |= {at.CROSS_QUERY: (cross.query, across, width), at.CROSS_OUTPUT: (cross.output, width, across)}
            arounds[at.NORM_CROSS] = layer.around_cross
        for place, matrix in matrices.items():
            row[place : place + at.MATRIX] = self.weights.matrix(*matrix)
        for place, around in arounds.items():
            need(RESIDUALS.get(type(around)) == call[at.RESIDUAL])
            row[place : place + at.NORM] = self._norm(around.norm)

    def _scales(self, attention: Multihead, place: int) -> bool:
        return bool(np.float32(attention.scale) == self.numbers[place])

    def _norm(self, norm: nn.Module) -> list[int]:
        need(NORMS.get(type(norm)) == self.call[at.NORM_KIND])
        assert isinstance(norm, LayerNorm | RmsNorm)
        need(bool(np.float32(norm.eps) == self.numbers[at.EPS]))
        bias, width = norm.bias if isinstance(norm, LayerNorm) else None, self.call[at.WIDTH]
        return [self.weights.address(norm.weight, width), self.weights.address(bias, width)]


def heads(attention: Multihead) -> tuple[int, int, int]:
    """Heads, those of keys and values, and the width of one."""
    rows = attention.query.out_features
    need(attention.key_value.out_features == 2 * attention.kv_heads * (rows // attention.heads))
    return attention.heads, attention.kv_heads, rows // attention.heads


def activation(mlp: Mlp) -> tuple[int, int]:
    """Which activation, and how many numbers go through it."""
    if type(mlp) is Relu:
        return at.RELU, mlp.up.out_features
    if type(mlp) is Gelu:
        return GELUS[mlp.activation], mlp.up.out_features
    need(type(mlp) is Swiglu)
    assert isinstance(mlp, Swiglu)
    return at.SWIGLU, mlp.down.in_features
