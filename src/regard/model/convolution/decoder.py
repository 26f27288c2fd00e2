"""Convolutional decoder."""

from typing import Annotated

from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor

from regard.model.attention import Attention, Site
from regard.model.attention.kernels.segments import Packed
from regard.model.convolution.gated import Gated
from regard.model.dropout import dropped
from regard.model.mask import Mask
from regard.model.memory import Held, Memory
from regard.model.module_list import ModuleList
from regard.model.norms import Norm
from regard.model.options import Dilation, Dropout, KernelSize, Layers
from regard.model.positions import Positions
from regard.model.residual import Residual
from regard.model.stack import Decoder, DecoderSite, Encoded
from regard.recipe import Part, choose


class ConvolutionDecoder(Decoder):
    """Every layer sees a few positions back, and looks at the source.

    Causal gated convolutions with attention in every layer [Gehring et al. 2017]
    """

    def __init__(
        self,
        site: DecoderSite,
        *,
        layers: Layers = 4,
        kernel_size: KernelSize = 3,
        dilation: Dilation = 1,
        attention: Annotated[
            Part[Attention], Doc("How every layer looks at the source; unused in a model without one.")
        ] = choose("dot"),
        positions: Part[Positions] = choose("learned"),
        norm: Part[Norm] = choose("layer"),
        residual: Part[Residual] = choose("pre"),
        dropout: Dropout = 0.0,
    ) -> None:
        super().__init__()
        width, source = site.width, site.source
        self.dropout, self.out_width = dropout, width
        self.positions = positions.build(width)
        self.positions.check((), "a convolution")
        self.limit = self.positions.limit
        self.layers = ModuleList(Gated(width, kernel_size, dilation**i) for i in range(layers))
        self.around = ModuleList(residual.build(norm.build(width), dropout) for _ in range(layers))
        sites = [] if source is None else [Site(width, source.width)] * layers
        self.attention = ModuleList(attention.build(site) for site in sites)
        self.around_attention = ModuleList(residual.build(norm.build(width), dropout) for _ in sites)
        self.close = residual.build(norm.build(width), dropout).closing()

    def start(self, encoded: Encoded | None, rows: int) -> Memory:
        like = next(self.around.parameters())  # layers may be sharded
        tails = [Held(like.new_zeros(rows, layer.tail, self.out_width)) for layer in self.layers]
        if encoded is None:
            return Memory(rows, tails)
        read = [layer.remember(encoded.states, encoded.mask()) for layer in self.attention]
        return Memory(rows, tails, cross=read, source_lengths=encoded.lengths)

    def forward(
        self, x: Float[Tensor, "B T D"], encoded: Encoded | None, mask: Mask, memory: Memory | None = None
    ) -> Float[Tensor, "B T D"]:
        if mask.segments is not None:
            packed = Packed(mask)
            rows = packed.unpack(x[:, None])[:, 0]
            return packed.pack(self(rows, encoded, packed.mask)[:, None])[:, 0]
        memory = self.start(encoded, len(x)) if memory is None else memory
        seen, tails, steps = memory.source_mask(), memory.held(), x.shape[1]
        x = self.positions.embed(x, memory.where(steps))
        x = dropped(x, self.dropout, self.training)
        for i, (layer, around) in enumerate(zip(self.layers, self.around, strict=True)):
            x = around(x, lambda y, i=i, layer=layer: layer(y, tails[i]))
            if len(self.attention):
                looked = self.attention[i]
                x = self.around_attention[i](
                    x, lambda y, i=i, looked=looked: looked(y, None, seen, memory=memory.cross[i])
                )
        memory.advance(steps)
        out: Tensor = self.close(x)
        return out
