"""Transformer decoder."""

from jaxtyping import Float
from torch import Tensor

from regard.model.attention import Attention, Pattern, Site
from regard.model.dropout import dropped
from regard.model.mask import Mask
from regard.model.memory import Held, Memory
from regard.model.mlp import Mlp
from regard.model.module_list import ModuleList
from regard.model.norms import Norm
from regard.model.positions import Places, Positions
from regard.model.residual import Residual
from regard.model.stack import Decoder, Encoded, Source
from regard.model.transformer.encoder import whereabouts
from regard.model.transformer.layer import Kit, Reading, TransformerLayer
from regard.recipe import Count, Part, Share, choose


class TransformerDecoder(Decoder):
    """Every word looks at those before it and, if there is a source, at all of that.

    Masked self-attention, encoder-decoder attention, MLP [N2:285-289, N2:684-783; Vaswani et al. 2017].
    Without a source it is GPT [N4:139]; `cross` then goes unused.
    """

    def __init__(
        self,
        width: int,
        source: Source | None,
        *,
        layers: Count = 6,
        attention: Part[Attention] = choose("multihead"),
        cross: Part[Attention] = choose("multihead"),
        pattern: Part[Pattern] = choose("causal"),
        positions: Part[Positions] = choose("sinusoidal"),
        norm: Part[Norm] = choose("layer"),
        residual: Part[Residual] = choose("pre"),
        mlp: Part[Mlp] = choose("relu"),
        dropout: Share = 0.0,
    ) -> None:
        super().__init__()
        self.dropout, self.out_width = dropout, width
        self.pattern = pattern.build().mask() & Mask(causal=True)
        self.positions = positions.build(width)
        kit = Kit(norm, residual, mlp, dropout)
        site = Site(width, None, self.pattern, self.positions)
        across = None if source is None else Site(width, source.width)
        self.layers = ModuleList(
            TransformerLayer(site, kit, attention, cross.build(across) if across else None) for _ in range(layers)
        )
        self.close = kit.around(width).closing()

    def start(self, encoded: Encoded | None, rows: int) -> Memory:
        memory = Memory(past=[layer.attention.start() for layer in self.layers])
        if encoded is not None:
            crosses = [layer.cross for layer in self.layers if layer.cross is not None]
            memory.entries["cross"] = [cross.remember(encoded.states, encoded.mask()) for cross in crosses]
            if encoded.lengths is not None:
                memory.entries["lengths"] = [Held(encoded.lengths)]
        return memory

    def forward(
        self, x: Float[Tensor, "B T D"], encoded: Encoded | None, mask: Mask, memory: Memory | None = None
    ) -> Float[Tensor, "B T D"]:
        start = memory.length if memory else 0
        where = Places(self.positions, whereabouts(mask, start, x.shape[1]))
        x = dropped(where.embed(x), self.dropout, self.training)
        seen = self.pattern & mask.padded(mask.key_lengths)
        for i, layer in enumerate(self.layers):
            x = layer(x, seen, where, memory["past"][i] if memory else None, self._source(encoded, memory, i))
        out: Tensor = self.close(x)
        return out

    def _source(self, encoded: Encoded | None, memory: Memory | None, layer: int) -> Reading | None:
        if memory is not None and memory["cross"]:
            return Reading(None, memory.source_mask(), memory["cross"][layer])
        return None if encoded is None else Reading(encoded.states, encoded.mask())
