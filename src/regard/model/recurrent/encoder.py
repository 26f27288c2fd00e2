"""Recurrent encoder."""

from typing import Annotated, Literal

import torch
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor

from regard.model.dropout import dropped
from regard.model.mask import Mask
from regard.model.module_list import ModuleList
from regard.model.options import Dropout, Layers
from regard.model.recurrent.cells import Cell
from regard.model.recurrent.sweep import sweep, turned
from regard.model.stack import Encoded, Encoder, State
from regard.recipe import Part, choose


class RecurrentEncoder(Encoder):
    """Reads word by word, in one direction or both; the last state sums it all up.

    h_i = RNN(h_{i-1}, x_i) → h_1 … h_T [N4:7-13, N2:43-69]; `backward` from the last word to the first, which
    brings the source's beginning next to the target's [Sutskever et al. 2014].
    """

    def __init__(
        self,
        width: int,
        *,
        cell: Part[Cell] = choose("gru"),
        layers: Layers = 1,
        direction: Annotated[
            Literal["forward", "backward", "both"],
            Doc("Which way the text is read; both runs two cells of half the width and joins what they give."),
        ] = "both",
        dropout: Dropout = 0.0,
    ) -> None:
        super().__init__()
        self.ways = ("forward", "backward") if direction == "both" else (direction,)
        if width % len(self.ways):
            raise ValueError(f"direction: two directions share width {width}, which must be even")
        self.dropout, self.looks_ahead = dropout, direction != "forward"
        each = width // len(self.ways)
        self.layers = ModuleList(ModuleList(cell.build(width, each) for _ in self.ways) for _ in range(layers))
        self.final = tuple(cells[0].states for cells in self.layers)

    def forward(self, x: Float[Tensor, "B S D"], mask: Mask) -> Encoded:
        if mask.segments is not None:
            raise ValueError("a recurrent encoder takes one sequence per row, not packed segments")
        lengths, final = mask.key_lengths, []
        for layer in self.layers:
            x, state = self._layer(layer, dropped(x, self.dropout, self.training), lengths)
            final.append(state)
        return Encoded(x, lengths, tuple(final))

    def _layer(self, cells: ModuleList[Cell], x: Tensor, lengths: Tensor | None) -> tuple[Tensor, State]:
        swept = [_swept(way, cell, x, lengths) for way, cell in zip(self.ways, cells, strict=True)]
        if len(swept) == 1:
            return swept[0]
        (out, state), (back, back_state) = swept
        return torch.cat([out, back], -1), tuple(torch.cat(pair, -1) for pair in zip(state, back_state, strict=True))


def _swept(way: str, cell: Cell, x: Tensor, lengths: Tensor | None) -> tuple[Tensor, State]:
    if way == "forward":
        return sweep(cell, x, lengths)
    out, state = sweep(cell, turned(x, lengths), lengths)
    return turned(out, lengths), state
