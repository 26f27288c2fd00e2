"""What happens to each vector alone, after the vectors have talked [N3:145]."""

from regard.model.mlp.experts import Experts
from regard.model.mlp.mlp import Gelu, Mlp, Relu, Swiglu

__all__ = ["Experts", "Gelu", "Mlp", "Relu", "Swiglu"]
