"""All heads of a kind at once, each small enough to be seen beside the others."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.looking.look import Look
from regard.looking.merging import Pool, merged
from regard.looking.panel import row_blocks


def overview(look: Look, kind: str, most: int, words: bool = True) -> Float[Tensor, "L H r C"]:
    """Tables of at most so many rows and columns: each cell the largest weight of those that it stands for.

    Layers with fewer heads than others have zeros for those that they lack.
    """
    layers, lines = look.of(kind), look.scene.lines
    widest = max(layer.heads for layer in layers)
    found = []
    for layer in layers:
        rows, columns = lines[layer.rows], lines[layer.columns]
        tall, wide = len(rows.labels(words)), len(columns.labels(words))
        pool = Pool((tall, wide), most, (layer.heads,))
        for start, spans in row_blocks(rows, words, layer.most, 0, tall):
            weights = look.rows(layer, spans[0][0], spans[-1][1])
            pool.add(start, merged(weights, spans, columns) if words else weights)
        found.append(F.pad(pool.cells, (0, 0, 0, 0, 0, widest - layer.heads)))
    return torch.stack(found)
