"""What the page knows of an image: its pixels, and where every head looks in it from one place, or at one place."""

import numpy as np
import torch

from regard.looking.look import Look
from regard.looking.overlay import seen_image
from regard.looking.page.packing import packed

LARGEST_FILE = 2**24  # bytes of an image that is dropped on the page; whoever decodes it bounds its pixels


def image_bytes(look: Look) -> bytes:
    """A head of three whole numbers (rows, columns, channels), and a byte a colour."""
    pixels = seen_image(look).pixels
    return np.array(pixels.shape, "<u4").tobytes() + np.ascontiguousarray(pixels).tobytes()


def all_heads_bytes(look: Look, kind: str, rows: tuple[int, int] | None = None) -> bytes:
    """Where all heads of a kind look from some rows, their mean: a row a head, layer by layer."""
    start, stop = rows or seen_image(look).stands
    found = []
    for layer in look.of(kind):
        total = torch.zeros(layer.heads, len(look.scene.lines[layer.columns]))
        for low in range(start, stop, layer.most):
            total += look.rows(layer, low, min(low + layer.most, stop)).sum(1).cpu()
        found.append(total / (stop - start))
    return packed(torch.cat(found))


def looked_at_bytes(look: Look, kind: str, columns: tuple[int, int]) -> bytes:
    """The other way: how much every position looks at some columns, their mean, in all heads of a kind."""
    found = []
    for layer in look.of(kind):
        size = len(look.scene.lines[layer.rows])
        blocks = range(0, size, layer.most)
        parts = [look.rows(layer, low, min(low + layer.most, size))[..., slice(*columns)].mean(-1) for low in blocks]
        found.append(torch.cat(parts, 1).cpu())
    return packed(torch.cat(found))
