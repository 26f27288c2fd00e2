"""Rows and columns: where the patches of an image stand."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.precision import wide


@dataclass(frozen=True)
class Grid:
    """Tokens that stand in rows and columns, one row after the other, behind a few that stand nowhere ([CLS])."""

    rows: int
    columns: int
    extra: int = 0

    @property
    def count(self) -> int:
        """How many tokens there are."""
        return self.extra + self.rows * self.columns

    def places(self, device: torch.device) -> tuple[Int[Tensor, "T"], Int[Tensor, "T"]]:
        """The row and the column of every token; those that stand nowhere are in the corner."""
        at = torch.arange(-self.extra, self.rows * self.columns, device=device).clamp(min=0)
        return at // self.columns, at % self.columns


def regrid(table: Float[Tensor, "S D"], old: Grid, new: Grid) -> Float[Tensor, "T D"]:
    """A vector per place of one grid as a vector per place of another: between places, bicubic.

    As in ViT, for images of another size than a model was trained on [Dosovitskiy et al. 2021, 3.2]. Tokens that
    stand nowhere keep their vectors; where there are fewer of them now, the last ones go.
    """
    if new.extra > old.extra:
        raise ValueError(f"positions of {old.extra} tokens outside the grid cannot be those of {new.extra}")
    kept, places = table[: new.extra], table[old.extra :]
    if (old.rows, old.columns) != (new.rows, new.columns):
        image = wide(places).unflatten(0, (old.rows, old.columns)).permute(2, 0, 1)[None]
        drawn = F.interpolate(image, (new.rows, new.columns), mode="bicubic", align_corners=False)
        places = drawn[0].flatten(1).T.to(table.dtype)
    return torch.cat([kept, places])
