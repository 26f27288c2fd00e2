"""One step by the machine code."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.caller import ONE, Ahead, Caller, tile_of
from regard.decoding.compiled.leap import Beams, Leap
from regard.decoding.compiled.machine_code import Code
from regard.decoding.compiled.packing import wants_panels
from regard.decoding.compiled.past import PastTable
from regard.decoding.compiled.plan import Plan, embedding_of
from regard.decoding.compiled.positions import Table, row_table
from regard.decoding.compiled.product import run_product
from regard.decoding.compiled.shape import Heads
from regard.decoding.compiled.weights import NotCoveredError, Weights, need
from regard.model.assembly import Writer
from regard.model.memory import Claim, Memory, Past
from regard.model.positions import Rotary, Where
from regard.model.precision import is_rounded

CPU = torch.device("cpu")
TOGETHER = 8  # positions of a row: so many look back together


class Tables(NamedTuple):
    """Where rows stand and what they see, what all layers remember, and what these tables have addresses of."""

    rows: Table
    past: Table
    kept: object = None


class Stepper:
    """A model that writes, as the machine code sees it. It takes steps of any memory, in one thread at a time."""

    def __init__(self, code: Code, model: Writer) -> None:
        self._code, self._embedding = code, embedding_of(model.target)
        self._plan = Plan(model.decoder, self._embedding.table.embedding_dim, self._embedding.scale)
        self._head: nn.Module | None = None
        self._head_weights, self._words = Weights(), 0
        self._matrix = np.zeros((1, at.MATRIX), np.int64)
        self._packed: tuple[Memory | None, nn.Module | None] = (None, None)
        self._past = PastTable(self._plan)
        self._caller = Caller(code, self._plan)

    def step(self, tokens: Int[Tensor, "R T"], memory: Memory, head: nn.Module | None) -> Float[Tensor, "N V"] | None:
        """The logits after each of a few more tokens in every row, or without a head the states; row after row.

        None, and nothing done, where only torch can do this.
        """
        try:
            self._check(tokens, memory)
            self._know(head)
            x = self._embedded(tokens, memory)
            claim = self._past.claim(memory, memory.where(tokens.shape[1]))
            self._pack(memory, tokens.numel())
        except NotCoveredError:
            return None
        return self._read(x, memory, claim, self._words)

    @property
    def products(self) -> int:
        """Numbers that each row is multiplied by at a step."""
        return self._plan.weights.products + self._head_weights.products

    def leap(self, tokens: Int[Tensor, "R 1"], memory: Memory, beams: Beams, steps: int, fewest: int) -> Leap | None:
        """So many steps of a search at most, less where only the `fewest` sentences are left before.

        None, and nothing done, where single steps have to be taken.
        """
        where = memory.where(steps)
        try:
            need(memory.share == beams.size and tokens.shape == (beams.size * len(beams.ages), 1))
            self._check(tokens, memory)
            self._know(beams.choice.head)
            x, leap = self._embedded(tokens, memory).flatten(0, 1), self._told(Leap(beams, steps, fewest), where.stop)
            claim = self._past.claim(memory, where, ahead=True)
            self._pack(memory, len(tokens))
        except NotCoveredError:
            return None
        if claim.seen is not None:
            leap.see(claim.seen.shape[3])
        self.search(x, self._tables(row_table(memory, claim)), leap)
        memory.advance(leap.taken)
        seen = None if claim.seen is None else claim.seen[..., : claim.own + beams.size * leap.taken].contiguous()
        for entry in memory.layers:
            assert isinstance(entry, Past)
            entry.taken(seen, steps - leap.taken)
        return leap

    def begin(self, token: int, beams: Beams, steps: int) -> tuple[Float[Tensor, "R D"], Leap]:
        """So many steps of hypotheses that all go on from a token, and that nobody has a memory of.

        Given back is what a `search` wants; NotCoveredError where others have to do this. Weights that were packed for
        this head must be as they were.
        """
        need(not torch.is_grad_enabled() and not is_rounded(CPU) and self._plan.holds)
        self._know(beams.choice.head)
        x = self._placed(torch.full((beams.size, 1), token), Where(0, 1)).flatten(0, 1)
        leap = self._told(Leap(beams, steps), steps)
        if self._packed[1] is not self._head:
            self._pack(None, beams.size)
        return x, leap

    def search(self, x: Float[Tensor, "R D"], tables: Tables, leap: Leap) -> None:
        """The steps of a leap."""
        more, ahead = {at.STEPS: 1, at.SEARCH: leap.address}, Ahead(leap.steps, leap.size * (leap.steps - 1))
        self._run(x, tables._replace(kept=(leap, tables.kept)), self._words, more, ahead)

    def _told(self, leap: Leap, stop: int) -> Leap:
        leap.tell(self._embedding.table.weight, self._plan.places(stop))
        return leap

    @property
    def heads(self) -> Heads:
        """Those of self-attention."""
        return self._plan.shape.heads

    def read(self, tokens: Int[Tensor, "R T"], memory: Memory) -> Float[Tensor, "R T D"] | None:
        """The states of many more tokens in every row, their first ones too; None where only torch can do this."""
        try:
            self._check(tokens, memory)
            need(self._plan.shape.mlp.experts == 0)
            x = self._embedded(tokens, memory)
            self._past.begin(memory)
            claim = self._past.claim(memory, memory.where(tokens.shape[1]))
            if self._plan.packed:  # or panels are made in passing, and nothing is held twice
                self._pack(memory, tokens.numel())
        except NotCoveredError:
            return None
        return self._read(x, memory, claim, 0).view(x.shape)

    def score(self, states: Float[Tensor, "R D"], head: nn.Module) -> Float[Tensor, "R V"] | None:
        """The logits of some states; None where only torch can do this."""
        try:
            need(states.dtype == torch.float32 and not torch.is_grad_enabled() and not is_rounded(CPU))
            self._know(head)
        except NotCoveredError:
            return None
        if wants_panels(head, 1):
            self._head_weights.pack(self._matrix)
        matrix, out = self._matrix[0].copy(), states.new_empty(len(states), self._words)
        if not wants_panels(head, 1):
            matrix[at.PACKED :] = 0  # nobody has asked yet whether what was packed is still the same
        run_product(self._code, matrix, states.contiguous(), out)
        return out

    def forget(self) -> None:
        """Let go of the memory of the last texts."""
        self._past, self._packed = PastTable(self._plan), (None, self._packed[1])

    def _check(self, tokens: Tensor, memory: Memory) -> None:
        need(len(tokens) == memory.rows > 0 and tokens.shape[1] > 0)
        need(not torch.is_grad_enabled() and not is_rounded(CPU) and self._plan.holds)

    def _pack(self, memory: Memory | None, rows: int) -> None:
        """Where rows are many, weights are packed; whether they were changed is asked at the beginning of texts."""
        for_whom = (memory, self._head)
        if self._plan.weights.wants_panels(rows) and any(map(_other, for_whom, self._packed)):
            self._plan.pack()
            self._head_weights.pack(self._matrix)
            self._packed = for_whom

    def _know(self, head: nn.Module | None) -> None:
        """Look at the head, unless it is the one of the step before."""
        if head is self._head and not self._head_weights.moved:
            return
        weights, words = Weights(), 0
        self._head, self._matrix[:] = None, 0
        if head is not None:
            assert isinstance(head.out_features, int)
            words = head.out_features
            self._matrix[0] = weights.matrix(head, words, self._plan.width)
            weights.settle()
        self._head, self._head_weights, self._words = head, weights, words

    def _embedded(self, tokens: Int[Tensor, "R T"], memory: Memory) -> Float[Tensor, "R T D"]:
        return self._placed(tokens, memory.where(tokens.shape[1]))

    def _placed(self, tokens: Int[Tensor, "R T"], where: Where) -> Float[Tensor, "R T D"]:
        x = self._plan.positions.embed(self._embedding(tokens), where)
        need(x.dtype == torch.float32 and x.is_contiguous() and x.shape[2] == self._plan.width)
        return x

    def _read(self, x: Float[Tensor, "R T D"], memory: Memory, claim: Claim, words: int) -> Float[Tensor, "N V"]:
        """Some more positions of every row; the logits of so many `words`, or of none the states."""
        steps = x.shape[1]
        rows, more = row_table(memory, claim, steps), {at.STEPS: steps}
        memory.advance(steps)
        if steps >= TOGETHER and claim.apart is None and claim.seen is None:
            more[at.TILED] = tile_of(self._plan, rows)
        return self._run(x.flatten(0, 1), self._tables(rows), words, more)

    def _tables(self, rows: Table) -> Tables:
        return Tables(rows, self._past.table.copy())  # who comes late must find what was remembered at its own step

    def _run(
        self, x: Float[Tensor, "N D"], tables: Tables, words: int, more: dict[int, int], ahead: Ahead = ONE
    ) -> Float[Tensor, "N V"]:
        out, rows = torch.empty(len(x), words or x.shape[1]), tables.rows
        turns = self._turns(int(rows[:, at.POSITION].max()) + ahead.steps, x)
        more |= {at.PAST_TABLE: tables.past.ctypes.data, at.TURNS: 0 if turns is None else turns.data_ptr()}
        more |= {at.WORDS: words, **dict(enumerate(self._matrix[0].tolist(), at.HEAD))}
        self._caller.run(x, rows, out, more, ahead, (tables, turns))
        return out

    def _turns(self, needed: int, like: Tensor) -> Tensor | None:
        positions = self._plan.positions
        return positions.table(self._plan.shape.heads.width, needed, like) if isinstance(positions, Rotary) else None


def _other(one: object, other: object) -> bool:
    return one is not other
