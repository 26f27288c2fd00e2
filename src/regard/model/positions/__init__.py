"""Where a token stands, told to a model that would not know by itself.

Three moments, silent by default: `embed` before the first layer, `rotate` on queries and keys,
`slopes` as a bias on the scores. Attention never asks which scheme it has. Patches of an image stand
in rows and columns: `lay_out` says so before the first of these moments.
"""

from regard.model.positions.alibi import Alibi
from regard.model.positions.grid import Grid, regrid
from regard.model.positions.learned import Learned
from regard.model.positions.none import Nowhere
from regard.model.positions.positions import Moment, Places, Positions, Where
from regard.model.positions.rotary import Rotary
from regard.model.positions.sinusoidal import Sinusoidal

__all__ = [
    "Alibi",
    "Grid",
    "Learned",
    "Moment",
    "Nowhere",
    "Places",
    "Positions",
    "Rotary",
    "Sinusoidal",
    "Where",
    "regrid",
]
