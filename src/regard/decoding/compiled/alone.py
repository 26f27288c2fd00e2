"""One sentence from its ids to the last of its hypotheses: nothing is kept that other steps could go on from."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.leap import Beams, Leap
from regard.decoding.compiled.positions import Table
from regard.decoding.compiled.reader import Reader
from regard.decoding.compiled.stepper import Stepper, Tables
from regard.decoding.compiled.weights import NotCoveredError, need

LONGEST = 1024  # tokens that a sentence may become, as there is room for all of them


class Alone:
    """A translator with one sentence at hand.

    Where sentences come one by one, to make a memory of each and to ask it at every turn how it stands would take as
    long as the machine code does. Here tables are filled in as they are known to be before the first step.
    """

    def __init__(self, reader: Reader, stepper: Stepper) -> None:
        need(reader.remembers_all)
        reader.pack()
        self._reader, self._stepper = reader, stepper

    def leap(self, source: Sequence[int], token: int, beams: Beams) -> Leap | None:
        """All steps of a search that goes on from a token; None, and nothing done, where only others can do this."""
        steps, size, heads = beams.left, beams.size, self._stepper.heads
        if steps > LONGEST:
            return None
        try:
            x, leap = self._stepper.begin(token, beams, steps)
            read = self._reader.read(source)
        except NotCoveredError:
            return None
        rows, kept = _rows(size, len(source)), torch.empty(2, len(read), heads.groups, size * steps, heads.width)
        marks = _parted(leap, rows) if size > 1 else None
        past = _past(kept, read, self._reader.cross.width)
        self._stepper.search(x, Tables(rows, past, (kept, read, marks)), leap)
        return leap


def _parted(leap: Leap, rows: Table) -> object:
    """Hypotheses have a column each at every step, and marks of those they see."""
    columns = leap.size * leap.steps
    seen, stands = np.zeros((leap.size, columns), np.uint8), np.repeat(np.arange(leap.steps), leap.size)
    rows[:, at.SEEN], rows[:, at.AT] = seen.ctypes.data + columns * np.arange(leap.size), stands.ctypes.data
    leap.see(columns)
    return seen, stands


def _rows(size: int, source: int) -> Table:
    """Hypotheses before their first step: each writes into a column of its own, and sees nothing but a source."""
    rows = np.zeros((size, at.ROW_SIZE), np.int64)
    rows[:, at.OWN], rows[:, at.FIRST_OWN], rows[:, at.SOURCE_LENGTH] = np.arange(size), -1, source
    return rows


def _past(kept: Float[Tensor, "2 L G Z K"], read: Float[Tensor, "L S C"], width: int) -> Table:
    """Room for what layers will remember, and what each has read of the source: keys of all heads, which have so many
    numbers each, and values behind them."""
    table, layers = np.zeros((len(read), at.PAST_SIZE), np.int64), np.arange(len(read))
    (apart, layer, *strides), (between, position, _) = kept.stride(), read.stride()
    table[:, at.KEYS] = kept.data_ptr() + 4 * layer * layers
    table[:, at.VALUES] = table[:, at.KEYS] + 4 * apart
    table[:, at.ROW_STRIDE], table[:, at.HEAD_STRIDE], table[:, at.STRIDE] = layer, strides[0], strides[1]
    table[:, at.SOURCE_KEYS] = read.data_ptr() + 4 * between * layers
    table[:, at.SOURCE_VALUES] = table[:, at.SOURCE_KEYS] + 2 * position
    table[:, at.SOURCE_HEAD_STRIDE], table[:, at.SOURCE_STRIDE] = width, position
    return table
