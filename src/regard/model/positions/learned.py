"""A learned vector per position."""

from typing import Annotated

from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import InputError
from regard.model.positions.grid import Grid
from regard.model.positions.positions import Positions, Where
from regard.recipe import Count


class Learned(Positions):
    """One learned vector for each position up to a limit, added to the embeddings.

    x + P[pos] [Vaswani et al. 2017, table 3 (E); GPT-2; ViT]. An image has one for each of its patches, whatever the
    limit; for images of another size they are drawn out of those (`regrid`).
    """

    moment = "embed"
    place = ""
    """The key of the recipe that it was chosen by, for what is said of it."""

    def __init__(
        self,
        width: int,
        *,
        limit: Annotated[
            Count, Doc("Number of positions that have a vector: no longer text can be read. Images need not say it.")
        ] = 1024,
    ) -> None:
        super().__init__()
        self.limit: int = limit
        self.table = nn.Embedding(limit, width)

    def lay_out(self, grid: Grid) -> None:
        super().lay_out(grid)
        if self.limit != grid.count:
            self.limit, self.table = grid.count, nn.Embedding(grid.count, self.table.embedding_dim)

    def embed(self, x: Float[Tensor, "B T D"], where: Where) -> Float[Tensor, "B T D"]:
        if where.stop > self.limit:
            key = f"{self.place or 'positions'}.limit"
            said = f"position {where.stop - 1:,} is past the {self.limit:,} learned positions"
            raise InputError(f"{said}; a model trained with a larger {key} has more")
        return x + where.pick(self.table.weight)
