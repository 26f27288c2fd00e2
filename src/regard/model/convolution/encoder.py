"""Convolutional encoder."""

from jaxtyping import Float
from torch import Tensor

from regard.model.convolution.gated import Gated
from regard.model.dropout import dropped
from regard.model.mask import Mask
from regard.model.module_list import ModuleList
from regard.model.norms import Norm
from regard.model.options import Dilation, Dropout, KernelSize, Layers
from regard.model.positions import Grid, Positions, Where
from regard.model.residual import Residual
from regard.model.stack import Encoded, Encoder, blank
from regard.recipe import Part, choose


class ConvolutionEncoder(Encoder):
    """Every layer sees a few neighbours on both sides; depth widens the view.

    The notes' third way of processing a sequence [N3:139, N2:303-305; Gehring et al. 2017]
    """

    def __init__(
        self,
        width: int,
        *,
        layers: Layers = 4,
        kernel_size: KernelSize = 3,
        dilation: Dilation = 1,
        positions: Part[Positions] = choose("learned"),
        norm: Part[Norm] = choose("layer"),
        residual: Part[Residual] = choose("pre"),
        dropout: Dropout = 0.0,
    ) -> None:
        super().__init__()
        if kernel_size % 2 == 0:
            raise ValueError(f"kernel_size: {kernel_size} neighbours have no middle; choose an odd number")
        self.dropout = dropout
        self.positions = positions.build(width)
        self.positions.check((), "a convolution")
        self.limit = self.positions.limit
        self.layers = ModuleList(Gated(width, kernel_size, dilation**i) for i in range(layers))
        self.around = ModuleList(residual.build(norm.build(width), dropout) for _ in range(layers))
        self.close = residual.build(norm.build(width), dropout).closing()

    def lay_out(self, grid: Grid, read: int | None = None) -> None:
        self.positions.lay_out(grid)
        self.limit = self.positions.limit

    def forward(self, x: Float[Tensor, "B S D"], mask: Mask) -> Encoded:
        if mask.segments is not None:
            raise ValueError("a convolutional encoder takes one sequence per row, not packed segments")
        x = dropped(self.positions.embed(x, Where(0, x.shape[1])), self.dropout, self.training)
        for layer, around in zip(self.layers, self.around, strict=True):
            x = around(x, lambda y, layer=layer: layer(blank(y, mask.key_lengths)))
        return Encoded(blank(self.close(x), mask.key_lengths), mask.key_lengths)
