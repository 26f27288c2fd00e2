"""One step by the machine code."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.machine_code import Code
from regard.decoding.compiled.past import PastTable
from regard.decoding.compiled.plan import Plan
from regard.decoding.compiled.positions import Table, row_table
from regard.decoding.compiled.team import TEAM, threads
from regard.decoding.compiled.weights import NotCoveredError, Weights, need
from regard.model.assembly import Writer
from regard.model.memory import Memory
from regard.model.positions import Rotary
from regard.model.precision import is_rounded

CPU = torch.device("cpu")


class Stepper:
    """A model that writes, as the machine code sees it. It takes steps of any memory, in one thread at a time."""

    def __init__(self, code: Code, model: Writer) -> None:
        self._code, self._plan = code, Plan(model)
        self._head: nn.Module | None = None
        self._head_weights, self._matrix, self._words = Weights(), (0, 0, 0), 0
        self._past = PastTable(self._plan)
        self._bench = Bench()

    def step(self, tokens: Int[Tensor, "R T"], memory: Memory, head: nn.Module | None) -> Float[Tensor, "N V"] | None:
        """The logits after each of a few more tokens in every row, or without a head the states; row after row.

        None, and nothing done, where only torch can do this.
        """
        steps = tokens.shape[1]
        try:
            self._check(tokens, memory)
            self._know(head)
            where = memory.where(steps)
            x = self._plan.positions.embed(self._plan.target(tokens), where)
            need(x.dtype == torch.float32 and x.is_contiguous() and x.shape[2] == self._plan.width)
            claim = self._past.claim(memory, where)
        except NotCoveredError:
            return None
        rows = row_table(memory, claim, steps)
        memory.advance(steps)
        return self._run(x.flatten(0, 1), rows, steps)

    def _check(self, tokens: Tensor, memory: Memory) -> None:
        need(len(tokens) == memory.rows > 0 and tokens.shape[1] > 0 and memory.length > 0)
        need(not torch.is_grad_enabled() and not is_rounded(CPU) and self._plan.holds)

    def _know(self, head: nn.Module | None) -> None:
        """Look at the head, unless it is the one of the step before."""
        if head is self._head and not self._head_weights.moved:
            return
        weights, words = Weights(), 0
        self._head, self._matrix = None, (0, 0, 0)
        if head is not None:
            assert isinstance(head.out_features, int)
            words = head.out_features
            self._matrix = weights.matrix(head, words, self._plan.width)
            weights.settle()
        self._head, self._head_weights, self._words = head, weights, words

    def _run(self, x: Float[Tensor, "N D"], rows: Table, steps: int) -> Float[Tensor, "N V"]:
        plan, bench, out = self._plan, self._bench, torch.empty(len(x), self._words or x.shape[1])
        call, past = np.array(plan.call), self._past.table.copy()  # who comes late must find the tables of its own step
        tickets = np.zeros((at.PHASES * plan.layers + 1) * at.LINE + at.LINE, np.int64)
        span = int(
            max((rows[:, at.STOP] - rows[:, at.LOW] + rows[:, at.FIRST]).max() + 1, rows[:, at.SOURCE_LENGTH].max())
        )
        team = threads()
        rooms = bench.lay(plan, len(x), span, team)
        call[at.CALL], call[at.ROWS], call[at.WORDS] = call.ctypes.data, len(x), self._words
        call[at.STEPS], call[at.THREADS], call[at.SPAN] = steps, team, span
        call[at.HEAD : at.HEAD + at.MATRIX] = self._matrix
        call[at.PAST_TABLE], call[at.ROW_TABLE] = past.ctypes.data, rows.ctypes.data
        call[at.TICKETS] = -(-tickets.ctypes.data // (8 * at.LINE)) * 8 * at.LINE
        call[at.X], call[at.OUT] = x.data_ptr(), out.data_ptr()
        call[at.ASKED], call[at.MIXED], call[at.INNER] = bench.asked, bench.mixed, bench.inner
        call[at.CHOSEN], call[at.PANEL] = bench.chosen, bench.panel
        turns = self._turns(int(rows[:, at.POSITION].max()) + 1, x)
        call[at.TURNS] = 0 if turns is None else turns.data_ptr()
        TEAM.run(self._code, int(call[at.CALL]), rooms, (call, past, tickets, rows, plan))
        return out

    def _turns(self, needed: int, like: Tensor) -> Tensor | None:
        positions = self._plan.positions
        return positions.table(self._plan.shape.heads.width, needed, like) if isinstance(positions, Rotary) else None


class Bench:
    """Room for what threads write on the way: for each other, and each for itself."""

    def __init__(self) -> None:
        self.asked = self.mixed = self.inner = self.chosen = self.panel = 0
        self._rooms: list[int] = []
        self._size = (0, 0, 0)
        self._arrays: list[np.ndarray[tuple[int], np.dtype[np.float32]]] = []

    def lay(self, plan: Plan, rows: int, span: int, team: int) -> list[int]:
        """Make it large enough; the rooms of so many threads."""
        if any(there < needed for there, needed in zip(self._size, (rows, span, team), strict=True)):
            most = max(rows, self._size[0]), max(2 * span, self._size[1]), max(team, self._size[2])
            self._lay(plan, *most)
            self._size = most
        return self._rooms[:team]

    def _lay(self, plan: Plan, rows: int, span: int, team: int) -> None:
        heads, cross = plan.shape.heads, plan.shape.cross
        asked = max(heads.inside + 2 * heads.groups * heads.width, cross.inside)
        inside, active = plan.shape.mlp, max(1, plan.shape.mlp.active)
        own = max(
            rows * plan.width + 2 * at.MATRIX + 2 + rows * active + inside.experts,
            2 * max(heads.width, cross.width) + 3 * span + 8,
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
