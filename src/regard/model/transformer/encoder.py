"""Transformer encoder."""

from collections.abc import Callable
from typing import Annotated

from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor

from regard.model.attention import Attention, Pattern, Site
from regard.model.dropout import dropped
from regard.model.mask import Mask, places
from regard.model.mlp import Mlp
from regard.model.module_list import ModuleList
from regard.model.norms import Norm
from regard.model.options import Dropout, Layers, LayerScale, StochasticDepth
from regard.model.positions import Grid, Places, Positions, Where
from regard.model.residual import Residual
from regard.model.stack import Encoded, Encoder, blank
from regard.model.transformer.layer import Kit, TransformerLayer
from regard.recipe import Part, choose

Reader = Callable[[Tensor, int], Tensor | None]
"""What so many first layers make of rows that see all of their own, by other means than torch's; None: it cannot."""


class TransformerEncoder(Encoder):
    """Every word looks at every other, layer by layer [N2:280-291, N2:662-670].

    Vaswani et al. 2017
    """

    def __init__(
        self,
        width: int,
        *,
        layers: Layers = 6,
        attention: Annotated[Part[Attention], Doc("How positions look at each other: self-attention.")] = choose(
            "multihead"
        ),
        pattern: Part[Pattern] = choose("full"),
        positions: Part[Positions] = choose("sinusoidal"),
        norm: Part[Norm] = choose("layer"),
        residual: Part[Residual] = choose("pre"),
        mlp: Part[Mlp] = choose("relu"),
        dropout: Dropout = 0.0,
        stochastic_depth: StochasticDepth = 0.0,
        layer_scale: LayerScale = 0.0,
    ) -> None:
        super().__init__()
        self.dropout, self.pattern = dropout, pattern.build().mask()
        self.looks_ahead = not self.pattern.causal
        self.positions = positions.build(width)
        self.limit = self.positions.limit
        kit = Kit(norm, residual, mlp, dropout, stochastic_depth, layer_scale)
        site = Site(width, None, self.pattern, self.positions)
        self.layers = ModuleList(
            TransformerLayer(site, kit, attention, depth=(number + 1) / layers) for number in range(layers)
        )
        self.close = kit.closing(width)
        self.read: int | None = None
        self.lent: Reader | None = None

    def lay_out(self, grid: Grid, read: int | None = None) -> None:
        self.positions.lay_out(grid)
        self.limit, self.read = self.positions.limit, read

    def forward(self, x: Float[Tensor, "B S D"], mask: Mask) -> Encoded:
        where = Places(self.positions, whereabouts(mask, 0, x.shape[1]))
        x = dropped(where.embed(x), self.dropout, self.training)
        seen = self.pattern & mask.padded(mask.key_lengths)
        last, first = len(self.layers) - 1, 0
        if self.lent is not None and not self.training and seen.hides_nothing:
            count = len(self.layers) if self.read is None else last
            found = self.lent(x, count)
            x, first = (x, 0) if found is None else (found, count)
        for number in range(first, len(self.layers)):
            x = self.layers[number](x, seen, where, read=self.read if number == last else None)
        return Encoded(blank(self.close(x), mask.key_lengths), mask.key_lengths)


def whereabouts(mask: Mask, start: int, steps: int) -> Where:
    """Positions count from the beginning of the row, or of each segment packed into it."""
    return Where(start, start + steps, None if mask.segments is None else places(mask.segments))
