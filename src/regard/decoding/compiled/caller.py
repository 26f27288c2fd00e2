"""One call of the machine code: its table is filled in, and there is room for what it writes on the way."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.machine_code import Code
from regard.decoding.compiled.plan import Plan
from regard.decoding.compiled.positions import Table
from regard.decoding.compiled.team import TEAM, threads

Size = tuple[int, int, int, int]
"""Rows, columns that one of them sees, threads, and whether positions look back together."""


class Ahead(NamedTuple):
    """How many steps a call takes, and how many columns more than the first the last of them sees."""

    steps: int = 1
    columns: int = 0


ONE = Ahead()


class Caller:
    """All layers of a stack for some rows. It keeps its rooms from call to call."""

    def __init__(self, code: Code, plan: Plan) -> None:
        self._code, self._plan, self._bench = code, plan, Bench()

    def run(
        self,
        x: Float[Tensor, "N D"],
        rows: Table,
        out: Tensor,
        more: dict[int, int],
        ahead: Ahead = ONE,
        kept: Any = None,
    ) -> None:
        """The stream x through all layers, written into `out`; `more` is what else the call's table says."""
        plan, bench, call = self._plan, self._bench, np.array(self._plan.call)
        tickets = np.zeros((ahead.steps * (at.PHASES * plan.layers + at.LAST_PHASES) + 1) * at.LINE, np.int64)
        span, team = span_of(rows, ahead.columns), threads()
        rooms = bench.lay(plan, (len(x), span, team, more.get(at.TILED, 0)))
        call[at.CALL], call[at.THREADS] = call.ctypes.data, team
        call[at.ROWS] = call[at.MOST_ROWS] = len(x)
        call[at.SPAN], call[at.ROW_TABLE] = span, rows.ctypes.data
        call[at.TICKETS] = -(-tickets.ctypes.data // (8 * at.LINE)) * 8 * at.LINE
        call[at.X], call[at.OUT] = x.data_ptr(), out.data_ptr()
        call[at.ASKED], call[at.MIXED], call[at.INNER] = bench.asked, bench.mixed, bench.inner
        call[at.CHOSEN], call[at.PANEL] = bench.chosen, bench.panel
        call[list(more)] = list(more.values())
        # who comes late must find the tables of its own step
        TEAM.run(self._code, int(call[at.CALL]), rooms, (call, tickets, rows, plan, kept))

    def read(self, x: Float[Tensor, "N D"], lengths: list[int], at_once: int) -> Float[Tensor, "N D"]:
        """What an encoder makes of sentences or images that follow each other, about so many positions at once."""
        out, first = torch.empty_like(x), 0
        for some in together(lengths, at_once):
            rows, stop = whole_lines(some), first + sum(some)
            more = {at.STEPS: 1, at.TILED: tile_of(self._plan, rows)}
            self.run(x[first:stop], rows, out[first:stop], more)
            first = stop
        return out


def together(lengths: list[int], at_once: int) -> Iterator[list[int]]:
    """Whole sentences, as many as have so many positions at most; a longer one by itself."""
    some = list[int]()
    for length in lengths:
        if some and sum(some) + length > at_once:
            yield some
            some = []
        some.append(length)
    yield some


def whole_lines(lengths: list[int]) -> Table:
    """For every position the first of its sentence, and the one behind its last: what it sees."""
    counts = np.array(lengths)
    table, stops = np.zeros((int(counts.sum()), at.ROW_SIZE), np.int64), counts.cumsum()
    table[:, at.LOW], table[:, at.STOP] = np.repeat(stops - counts, counts), np.repeat(stops, counts)
    return table


def span_of(rows: Table, later: int = 0) -> int:
    """As many columns, or positions of a source, as a row sees at most; so many columns are added `later`."""
    columns = (rows[:, at.STOP] - rows[:, at.LOW] + rows[:, at.FIRST]).max() + 1 + later
    return int(max(columns, rows[:, at.SOURCE_LENGTH].max()))


def tile_of(plan: Plan, rows: Table) -> int:
    """So many positions look together."""
    heads = plan.shape.heads
    return at.positions_at_once(heads.all // heads.groups, span_of(rows))


class Bench:
    """Room for what threads write on the way: for each other, and each for itself."""

    def __init__(self) -> None:
        self.asked = self.mixed = self.inner = self.chosen = self.panel = 0
        self._rooms: list[int] = []
        self._size = (0, 0, 0, 0)
        self._arrays: list[np.ndarray[tuple[int], np.dtype[np.float32]]] = []

    def lay(self, plan: Plan, needed: Size) -> list[int]:
        """Make it large enough; the rooms of so many threads."""
        rows, span, team, tiled = needed
        if any(there < wanted for there, wanted in zip(self._size, needed, strict=True)):
            before = self._size
            self._size = max(rows, before[0]), max(2 * span, before[1]), max(team, before[2]), max(tiled, before[3])
            self._lay(plan, *self._size)
        return self._rooms[:team]

    def _lay(self, plan: Plan, rows: int, span: int, team: int, tiled: int) -> None:
        heads, cross = plan.shape.heads, plan.shape.cross
        asked = max(heads.inside + 2 * heads.groups * heads.width, cross.inside)
        inside, active = plan.shape.mlp, max(1, plan.shape.mlp.active)
        share, deep = heads.all // heads.groups, span + at.TILE + at.WIDEST
        own = max(
            rows * plan.width + 2 * at.MATRIX + 2 + rows * active + inside.experts,
            2 * max(heads.width, cross.width) + 3 * span + 32,
            at.WIDEST * (heads.width + deep) + max(at.SCORES_AT_ONCE, 6 * share * deep) if tiled else 0,
        )
        self.panel = 64 * -(-4 * own // 64)
        deepest = max(plan.width, heads.inside, cross.inside, inside.hidden) + at.BLOCK
        own = self.panel // 4 + (rows + at.TILE) * deepest
        sizes = [rows * asked, rows * max(heads.inside, cross.inside), 2 * rows * active * inside.hidden]
        sizes += [2 * rows * active, *[own] * team]
        self._arrays = [np.zeros(size + 32, np.float32) for size in sizes]
        self.asked, self.mixed, self.inner, self.chosen, *self._rooms = (
            -(-array.ctypes.data // 64) * 64 for array in self._arrays
        )
