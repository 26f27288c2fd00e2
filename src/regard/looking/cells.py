"""An image as cells, for models that cut it into no patches: so that it can be said which part of it counted."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

MOST = 16  # cells a side: as many as a Vision Transformer has patches


class Cells(nn.Module):
    """Pixels grouped into cells, and back again: x_j is all of a cell's pixels, gradient × input their sum."""

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        self.shape = height, width
        self.side = -(-height // MOST), -(-width // MOST)
        self.rows, self.columns = -(-height // self.side[0]), -(-width // self.side[1])

    def forward(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B N P"]:
        down, across = self.rows * self.side[0] - self.shape[0], self.columns * self.side[1] - self.shape[1]
        cut = F.pad(pixels, (0, across, 0, down)).unflatten(3, (-1, self.side[1])).unflatten(2, (-1, self.side[0]))
        cells: Tensor = cut.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)  # B rows·columns C·p·q
        return cells

    def joined(self, cells: Float[Tensor, "B N P"]) -> Float[Tensor, "B C Y X"]:
        """The image that they are of."""
        parts = cells.unflatten(2, (-1, *self.side)).unflatten(1, (self.rows, self.columns))  # B rows columns C p q
        whole: Tensor = parts.permute(0, 3, 1, 4, 2, 5).flatten(4, 5).flatten(2, 3)
        return whole[:, :, : self.shape[0], : self.shape[1]]
