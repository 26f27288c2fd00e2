"""Transformer decoder."""

from collections.abc import Sequence
from typing import Annotated

from annotated_doc import Doc
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.attention import Attention, Pattern, Site
from regard.model.dropout import dropped
from regard.model.mask import Mask
from regard.model.memory import Held, Memory
from regard.model.mlp import Mlp
from regard.model.module_list import ModuleList
from regard.model.norms import Norm
from regard.model.options import Dropout, Layers, StochasticDepth
from regard.model.positions import Places, Positions
from regard.model.residual import Residual
from regard.model.stack import Decoder, DecoderSite, Encoded
from regard.model.transformer.encoder import whereabouts
from regard.model.transformer.layer import Kit, Reading, TransformerLayer
from regard.recipe import Part, choose


class TransformerDecoder(Decoder):
    """Every word looks at those before it and, if there is a source, at all of that.

    Masked self-attention, encoder-decoder attention, MLP [N2:285-289, N2:684-783; Vaswani et al. 2017].
    Without a source it is GPT [N4:139]; `cross` then goes unused.
    """

    def __init__(
        self,
        site: DecoderSite,
        *,
        layers: Layers = 6,
        attention: Annotated[
            Part[Attention], Doc("How a position looks at those written before it: self-attention.")
        ] = choose("multihead"),
        cross: Annotated[
            Part[Attention], Doc("How positions look at the source; unused in a model without one.")
        ] = choose("multihead"),
        pattern: Part[Pattern] = choose("causal"),
        positions: Part[Positions] = choose("sinusoidal"),
        norm: Part[Norm] = choose("layer"),
        residual: Part[Residual] = choose("pre"),
        mlp: Part[Mlp] = choose("relu"),
        dropout: Dropout = 0.0,
        stochastic_depth: StochasticDepth = 0.0,
    ) -> None:
        super().__init__()
        width, source = site.width, site.source
        self.dropout, self.out_width = dropout, width
        self.pattern = pattern.build().mask() & Mask(causal=True)
        self.positions = positions.build(width)
        self.limit = self.positions.limit
        kit = Kit(norm, residual, mlp, dropout, stochastic_depth)
        inside = Site(width, None, self.pattern, self.positions)
        across = None if source is None else Site(width, source.width)
        self.layers = ModuleList(
            TransformerLayer(
                inside, kit, attention, cross.build(across) if across else None, depth=(number + 1) / layers
            )
            for number in range(layers)
        )
        self.close = kit.closing(width)

    def start(self, encoded: Encoded | None, rows: int) -> Memory:
        if encoded is None:
            return self.begin(rows)
        crosses = [layer.cross for layer in self.layers if layer.cross is not None]
        read = [cross.remember(encoded.states, encoded.mask()) for cross in crosses]
        return self.begin(rows, read, encoded.lengths)

    def begin(self, rows: int, read: Sequence[Held] = (), lengths: Int[Tensor, "B"] | None = None) -> Memory:
        """The memory before the first step, where all that cross-attention needs of sources was read."""
        layers = [layer.attention.start() for layer in self.layers]
        return Memory(rows, layers, cross=read, source_lengths=lengths)

    def forward(
        self, x: Float[Tensor, "B T D"], encoded: Encoded | None, mask: Mask, memory: Memory | None = None
    ) -> Float[Tensor, "B T D"]:
        steps = x.shape[1]
        where = Places(self.positions, memory.where(steps) if memory is not None else whereabouts(mask, 0, steps))
        x = dropped(where.embed(x), self.dropout, self.training)
        seen = self.pattern & mask.padded(mask.key_lengths)
        for i, layer in enumerate(self.layers):
            past = None if memory is None else memory.layers[i]
            x = layer(x, seen, where, past, self._source(encoded, memory, i))
        if memory is not None:
            memory.advance(steps)
        out: Tensor = self.close(x)
        return out

    def _source(self, encoded: Encoded | None, memory: Memory | None, layer: int) -> Reading | None:
        if memory is not None and memory.cross:
            return Reading(None, memory.source_mask(), memory.cross[layer])
        return None if encoded is None else Reading(encoded.states, encoded.mask())
