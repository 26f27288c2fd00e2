"""The likeliest words of a row, as every search asks for them at every step."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decoding.compiled.ranking import ranked

BLOCK = 64


def likeliest(logits: Float[Tensor, "R V"], count: int) -> tuple[Float[Tensor, "R C"], Int[Tensor, "R C"]]:
    """log P of the `count` likeliest words of every row, and their columns: compiled where that can be."""
    return ranked(logits, count) or top(logits.log_softmax(-1), count)


def best(logits: Float[Tensor, "R V"]) -> tuple[Float[Tensor, "R"], Int[Tensor, "R"]]:
    """log P of the likeliest word of every row, and its column, the first of equal ones: read once where compiled."""
    found = ranked(logits, 1)
    if found is not None:
        return found[0].squeeze(1), found[1].squeeze(1)
    columns = logits.argmax(-1)
    return log_chances(logits, columns), columns


def log_chances(logits: Float[Tensor, "R V"], columns: Int[Tensor, "R"]) -> Float[Tensor, "R"]:
    """log P of one word of every row; as far below the likeliest as its logit is."""
    found, chosen = ranked(logits, 1), columns[:, None]
    if found is None:
        return logits.log_softmax(-1).gather(1, chosen).squeeze(1)
    best, place = found
    return (logits.gather(1, chosen) - logits.gather(1, place) + best).squeeze(1)


def top(logits: Float[Tensor, "R V"], count: int) -> tuple[Float[Tensor, "R C"], Int[Tensor, "R C"]]:
    """`logits.topk(count)`, faster: the largest of all lie in the blocks with the largest maxima."""
    rows, size = logits.shape
    blocks = size // BLOCK
    if blocks <= 2 * count:
        return logits.topk(count)
    best = logits[:, : blocks * BLOCK].unflatten(1, (blocks, BLOCK)).amax(-1).topk(count).indices
    places = (best[..., None] * BLOCK + torch.arange(BLOCK, device=logits.device)).flatten(1)
    if size % BLOCK:
        tail = torch.arange(blocks * BLOCK, size, device=logits.device).expand(rows, -1)
        places = torch.cat([places, tail], 1)
    found, chosen = logits.gather(1, places).topk(count)
    return found, places.gather(1, chosen)
