"""Several steps of a search in one call: the table that the machine code reads and writes."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decoding.choice import Choice
from regard.decoding.compiled import layout as at
from regard.decoding.compiled.ranking import MOST
from regard.decoding.compiled.weights import Weights, need

Table = np.ndarray[tuple[int], np.dtype[np.int64]]


class Beams(NamedTuple):
    """A search before its next steps: what it may choose, and how its sentences and their hypotheses stand.

    A greedy one has one hypothesis a sentence.
    """

    choice: Choice
    size: int
    shortest: int
    ages: Int[Tensor, "B"]
    limits: Int[Tensor, "B"]
    noted: list[int]
    scores: Float[Tensor, "R"]

    @property
    def left(self) -> int:
        """Steps before the last sentence must be done."""
        return int((self.limits - self.ages).max())


class Ended(NamedTuple):
    """A hypothesis that has ended, or must: its sentence, how many steps before, and all that it has written since.

    The token that stops it is the last; each has its log P.
    """

    sentence: int
    step: int
    stops: bool
    log_prob: float
    before: int
    """The row from which it went on when the steps began."""
    tokens: list[int]
    chances: list[float]


class Leap:
    """So many steps of a search at most, until so few sentences are left. Numbers of all kinds lie in one array."""

    def __init__(self, beams: Beams, steps: int, fewest: int = 0) -> None:
        size, sentences, rows = beams.size, len(beams.ages), len(beams.scores)
        stops, words = len(beams.choice.stops), int(beams.choice.head.out_features)  # type: ignore[arg-type]
        count = min(size + stops, words)
        best = min(size * (1 + stops), size * count)
        need(0 < count <= MOST and stops < words)
        self._starts, offsets, room = _laid_out(steps, sentences, rows, count, best)
        self._room, self.table = np.zeros(room, np.int64), np.zeros(at.SEARCH_SIZE, np.int64)
        self.steps, self.size, self._rows = steps, size, rows
        self.table[at.NUMBERS_OF :][: len(offsets)] = self._room.ctypes.data + offsets
        self.table[[at.TAKEN, at.SENTENCES, at.FEWEST, at.BEAMS]] = steps, sentences, fewest, size
        self.table[[at.COUNT, at.BEST, at.SHORTEST]] = count, best, beams.shortest
        self._choose(beams.choice)
        self._whole(at.NUMBERS_OF, sentences)[:] = np.arange(sentences)
        self._whole(at.NOTED, sentences)[:] = beams.noted
        self._whole(at.AGES, sentences)[:] = beams.ages.numpy()
        self._whole(at.LIMITS, sentences)[:] = beams.limits.numpy()
        self._floats(at.SCORES, rows)[:] = beams.scores.numpy()
        self._kept: list[object] = [beams.choice]  # what the table has the address of must live as long

    @property
    def address(self) -> int:
        """Where its table is."""
        return int(self.table.ctypes.data)

    def tell(self, vectors: Float[Tensor, "V D"], places: Float[Tensor, "P D"] | None) -> None:
        """Where the vectors of tokens are, and those of positions, where these are added."""
        weights = Weights()
        self.table[at.EMBEDDED] = weights.address(vectors, *vectors.shape)
        self.table[at.PLACES] = 0 if places is None else weights.address(places, *places.shape)
        self._kept.append(weights)

    def see(self, columns: int) -> None:
        """So many columns have a mark in every row; where rows part, those of a sentence are moved."""
        spare = np.empty(columns * int(self.table[at.BEAMS]), np.uint8)
        self.table[at.SEEING], self.table[at.SPARE] = columns, spare.ctypes.data
        self._kept.append(spare)

    @property
    def taken(self) -> int:
        """Steps that were taken."""
        return int(self.table[at.TAKEN])

    @property
    def going(self) -> list[int]:
        """The sentences that are not done."""
        return [int(each) for each in self._whole(at.NUMBERS_OF, int(self.table[at.SENTENCES]))]

    @property
    def done(self) -> list[int]:
        """The sentences that are."""
        return sorted({*range(self._rows // int(self.table[at.BEAMS]))} - {*self.going})

    @property
    def scores(self) -> Float[Tensor, "r"]:
        """log P of all that go on."""
        return torch.from_numpy(self._floats(at.SCORES, self._going_rows).copy())

    def written(self) -> tuple[Int[Tensor, "r"], Int[Tensor, "r t"], Float[Tensor, "r t"]]:
        """What all hypotheses that go on have written since the steps began: from which row, the tokens and log P."""
        row, (tokens, chances, parents) = np.arange(self._going_rows), self._history()
        lines = np.empty((len(row), self.taken), np.int64)
        log_probs = np.empty((len(row), self.taken), np.float32)
        for step in reversed(range(self.taken if len(row) else 0)):
            lines[:, step], log_probs[:, step] = tokens[step, row], chances[step, row]
            row = parents[step, row]
        return torch.from_numpy(row), torch.from_numpy(lines), torch.from_numpy(log_probs)

    def ended(self) -> Iterator[Ended]:
        """Those that have ended on the way, in their order."""
        count = int(self.table[at.ENDED_COUNT])
        if not count:
            return
        tokens, chances, parents = (each.tolist() for each in self._history())
        lines = self._whole(at.ENDED, count * at.ENDED_SIZE).reshape(count, -1).tolist()
        last = (self._floats(name, count).tolist() for name in (at.ENDED_SCORES, at.ENDED_CHANCES))
        for (sentence, step, parent, token, stops), log_prob, chance in zip(lines, *last, strict=True):
            line, log_probs, row = [token], [chance], parent
            for earlier in reversed(range(step)):
                line.append(tokens[earlier][row])
                log_probs.append(chances[earlier][row])
                row = parents[earlier][row]
            yield Ended(sentence, step, bool(stops), log_prob, row, line[::-1], log_probs[::-1])

    @property
    def _going_rows(self) -> int:
        return int(self.table[at.SENTENCES] * self.table[at.BEAMS])

    def _choose(self, choice: Choice) -> None:
        self.table[[at.STOPS, at.STOP_COLUMNS]] = len(choice.stops), choice.stops.data_ptr()
        self.table[[at.FORBIDDEN, at.FORBIDDEN_COLUMNS]] = len(choice.forbidden), choice.forbidden.data_ptr()
        self.table[at.TOKEN_OF] = 0 if choice.words is None else choice.words.data_ptr()
        for columns in (choice.stops, choice.forbidden, choice.words):
            need(columns is None or (columns.dtype == torch.long and columns.is_contiguous()))

    def _history(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tokens, their log P and the rows they came from, step by step."""
        shape, size = (self.steps, self._rows), self.steps * self._rows
        tokens, parents = (self._whole(name, size).reshape(shape) for name in (at.TOKENS, at.PARENTS))
        chances = self._floats(at.CHANCES, size).reshape(shape)
        return tokens[: self.taken], chances[: self.taken], parents[: self.taken]

    def _whole(self, name: int, size: int) -> np.ndarray:
        return self._room[self._starts[name] :][:size]

    def _floats(self, name: int, size: int) -> np.ndarray:
        return self._room[self._starts[name] :].view(np.float32)[:size]


@lru_cache
def _laid_out(steps: int, sentences: int, rows: int, count: int, best: int) -> tuple[dict[int, int], Table, int]:
    """Where each kind of numbers begins, the same in bytes, and how much room all need."""
    lines = dict.fromkeys((at.NUMBERS_OF, at.AGES, at.LIMITS, at.NOTED), sentences)
    lines |= {at.SCORES: rows, at.RANKED: rows * count, at.RANKED_COLUMNS: rows * count, at.RANKED_TOTALS: rows}
    lines |= {at.BEST_SCORES: best, at.BEST_PLACES: best}
    lines |= dict.fromkeys((at.TOKENS, at.CHANCES, at.PARENTS), steps * rows)
    lines |= {at.ENDED: 2 * rows * at.ENDED_SIZE, at.ENDED_SCORES: 2 * rows, at.ENDED_CHANCES: 2 * rows}
    assert list(lines) == list(range(at.NUMBERS_OF, at.ENDED_CHANCES + 1))  # they follow each other in the table
    starts = np.cumsum([0, *lines.values()])
    return dict(zip(lines, starts.tolist(), strict=False)), 8 * starts[:-1], int(starts[-1])
