"""An encoder alone, over numbers."""

from typing import Annotated

import torch
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.assembly.assembly import Assembly
from regard.model.initial import initialise
from regard.model.mask import Mask
from regard.model.options import Width
from regard.model.stack import Encoded, Encoder
from regard.recipe import Count, Part, choose


class SequenceRegressor(Assembly):
    """Numbers through any encoder to numbers: one vector sums up the row, and a few numbers are read from it.

    y = W summary(encoder(X W_in)) [the adding problem: what is far back must be remembered, N0:17-33]
    """

    def __init__(
        self,
        *,
        inputs: Annotated[Count, Doc("Numbers that go in at each position.")] = 2,
        outputs: Annotated[Count, Doc("Numbers that come out for the whole sequence.")] = 1,
        width: Width = 64,
        encoder: Part[Encoder] = choose("recurrent"),
    ) -> None:
        super().__init__()
        self.inputs = inputs
        self.embed = nn.Linear(inputs, width)
        self.encoder = encoder.build(width)
        self.head = nn.Linear(width, outputs)
        initialise(self)

    def example(self, rows: int, length: int) -> tuple[Tensor, ...]:
        return (torch.zeros(rows, length, self.inputs),)

    def forward(self, numbers: Float[Tensor, "B T I"]) -> Float[Tensor, "B O"]:
        encoded: Encoded = self.encoder(self.embed(numbers), Mask())
        answered: Tensor = self.head(encoded.summary())
        return answered
