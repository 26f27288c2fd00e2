"""The likeliest words by the machine code."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.machine_code import MACHINE_CODE

MOST = 64  # words: more are sorted


def ranked(logits: Float[Tensor, "R V"], count: int) -> tuple[Float[Tensor, "R C"], Int[Tensor, "R C"]] | None:
    """log P of the `count` likeliest words of every row, and their columns; None where torch should look for them."""
    plain = logits.device.type == "cpu" and logits.dtype == torch.float32 and logits.is_contiguous()
    rows, words = logits.shape
    if not plain or not rows or not 0 < count <= min(MOST, words) or logits.requires_grad:
        return None
    code = MACHINE_CODE.get()
    if code is None:
        return None
    values, columns = logits.new_empty(rows, count), torch.empty(rows, count, dtype=torch.long)
    totals = logits.new_empty(rows, 1)
    call = np.zeros(at.RANK_SIZE, np.int64)
    call[at.RANK_ROWS], call[at.RANK_WORDS], call[at.RANK_COUNT] = rows, words, count
    call[at.RANK_LOGITS], call[at.RANK_TOTALS] = logits.data_ptr(), totals.data_ptr()
    call[at.RANK_VALUES], call[at.RANK_COLUMNS] = values.data_ptr(), columns.data_ptr()
    code(call.ctypes.data, 0)
    return values - values[:, :1] - totals.log(), columns
