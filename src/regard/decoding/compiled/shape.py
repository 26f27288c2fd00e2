"""What kind of Transformer a layer belongs to, in numbers; all layers of a model that is covered are alike."""

from typing import NamedTuple

from torch import nn

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.weights import need
from regard.model.attention import Attention, Multihead
from regard.model.mlp import Experts, Gelu, Mlp, Relu, Swiglu
from regard.model.norms import LayerNorm, RmsNorm
from regard.model.residual import NoResidual, Post, Pre, Residual
from regard.model.transformer.layer import TransformerLayer

NORMS: dict[type, int] = {LayerNorm: at.LAYER_NORM, RmsNorm: at.RMS_NORM}
RESIDUALS: dict[type, int] = {Pre: at.PRE, Post: at.POST, NoResidual: at.NO_RESIDUAL}
GELUS = {"gelu": at.GELU, "gelu_tanh": at.GELU_TANH}
EXPERTS = {"relu": at.RELU, "gelu": at.GELU, "swiglu": at.SWIGLU}


class Heads(NamedTuple):
    """Heads, those of keys and values, the width of one, and what scores are multiplied by."""

    all: int = 0
    groups: int = 0
    width: int = 0
    scale: float = 0.0

    @property
    def inside(self) -> int:
        """Numbers in the queries of a position."""
        return self.all * self.width


class Around(NamedTuple):
    """What stands around a sub-layer: the kind of residual, the kind of norm and its eps."""

    residual: int
    norm: int
    eps: float


class Inside(NamedTuple):
    """An MLP: its activation, its width; of experts how many, how many at once, and whether shares are among all."""

    activation: int
    hidden: int
    experts: int = 0
    active: int = 0
    among_all: int = 0


class Shape(NamedTuple):
    """One layer; without a source `cross` has no heads."""

    heads: Heads
    cross: Heads
    mlp: Inside
    around: Around


def shape_of(layer: TransformerLayer) -> Shape:
    """The shape of a layer, if it is made of nothing but what the machine code knows."""
    need(type(layer) is TransformerLayer)
    cross = Heads() if layer.cross is None else heads_of(layer.cross)
    arounds = [around_of(each) for each in (layer.around_attention, layer.around_cross, layer.around_mlp) if each]
    need(len(set(arounds)) == 1)
    return Shape(heads_of(layer.attention), cross, inside_of(layer.mlp), arounds[0])


def heads_of(attention: Attention) -> Heads:
    """Exactly multi-head attention; parts of the user's own are torch's."""
    need(type(attention) is Multihead)
    assert isinstance(attention, Multihead)
    width = attention.query.out_features // attention.heads
    return Heads(attention.heads, attention.kv_heads, width, attention.scale)


def around_of(around: Residual) -> Around:
    """The residual and its norm."""
    need(type(around) in RESIDUALS and around.scale is None)
    return Around(RESIDUALS[type(around)], *norm_of(around.norm))


def norm_of(norm: nn.Module) -> tuple[int, float]:
    """The kind of a norm, and its eps."""
    need(type(norm) in NORMS)
    assert isinstance(norm, LayerNorm | RmsNorm)
    return NORMS[type(norm)], norm.eps


def inside_of(mlp: Mlp) -> Inside:
    """What is inside an MLP, or inside each of many."""
    need(type(mlp) in (Relu, Gelu, Swiglu, Experts))
    assert isinstance(mlp, Relu | Gelu | Swiglu | Experts)
    if isinstance(mlp, Experts):
        return Inside(EXPERTS[mlp.activation], mlp.down.shape[2], mlp.experts, mlp.active, int(mlp.among_all))
    kind = GELUS[mlp.activation] if isinstance(mlp, Gelu) else at.RELU if isinstance(mlp, Relu) else at.SWIGLU
    return Inside(kind, mlp.down.in_features)
