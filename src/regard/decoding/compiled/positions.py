"""Where rows stand and what they see, as tables that the machine code reads."""

import numpy as np
import torch
from torch import Tensor

from regard.decoding.compiled import layout as at
from regard.model.memory import Claim, Memory

Table = np.ndarray[tuple[int, int], np.dtype[np.int64]]


def certain(known: bool) -> None:
    """What the memory promises; machine code would write elsewhere if it were not so, and nobody would notice."""
    if not known:
        raise RuntimeError("the memory of a decoder is not laid out as its entries say")


def row_table(memory: Memory, claim: Claim, steps: int = 1) -> Table:
    """One line for each of a row's next positions, for a step that follows what the memory holds."""
    table, lines = np.zeros((memory.rows * steps, at.ROW_SIZE), np.int64), np.arange(memory.rows * steps)
    rows, own = lines // steps, claim.own + lines % steps
    positions = memory.length - (0 if memory.begin is None else memory.begin.numpy()[rows]) + lines % steps
    table[:, at.POSITION], table[:, at.FIRST_OWN] = positions, -1
    table[:, at.PLACE], table[:, at.SOURCE] = rows // claim.share, rows // memory.share
    table[:, at.STOP], table[:, at.OWN] = own, own + rows % claim.share
    if claim.seen is not None and claim.at is not None:
        columns = claim.seen.shape[3]
        certain(claim.seen.is_contiguous() and claim.at.is_contiguous() and claim.at.shape[-1] == columns)
        certain(columns >= claim.own and claim.seen.numel() == memory.rows * columns and steps == 1)
        table[:, at.SEEN] = claim.seen.data_ptr() + rows * columns
        table[:, at.AT] = claim.at.data_ptr() + (8 * columns * table[:, at.PLACE] if claim.at.ndim > 1 else 0)
    else:
        oldest = 0 if claim.width is None else np.maximum(0, own + 1 - claim.width)
        table[:, at.LOW] = np.maximum(oldest, own - positions)
        if claim.apart is not None:
            first = claim.apart[0].shape[2]
            table[:, at.FIRST] = np.clip(positions - (own - oldest), 0, first)
            table[:, at.FIRST_OWN] = np.where(positions < first, positions, -1)
    if memory.cross:
        longest = memory.cross[0].tensors()[0].shape[2]
        lengths = longest if memory.source_lengths is None else memory.source_lengths.numpy()[table[:, at.SOURCE]]
        table[:, at.SOURCE_LENGTH] = np.minimum(lengths, longest)
    certain(bool((table[:, at.LOW] <= own).all() and (table[:, at.POSITION] >= 0).all()))
    return table


def place(keys: Tensor, values: Tensor, shape: tuple[int, int, int]) -> list[int]:
    """Where keys and values are, which have so many rows, heads and numbers a head: addresses and strides."""
    certain(keys.shape == values.shape and (*keys.shape[:2], keys.shape[3]) == shape)
    certain(keys.stride() == values.stride() and keys.stride(3) == 1)
    certain(all(each.dtype == torch.float32 and each.device.type == "cpu" for each in (keys, values)))
    return [keys.data_ptr(), values.data_ptr(), *keys.stride()[:3]]
