"""The contract of all ways to write, and what they share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.memory import Memory

BARRED = 2  # the first columns, <pad> and <begin>, are never written


@dataclass(frozen=True)
class Hypothesis:
    """What was written, and how likely it is: log P, and that divided by a power of the length."""

    tokens: list[int]
    log_chance: float
    score: float


@dataclass(frozen=True)
class Writing:
    """A model at its desk: how to take a step, what to begin and end with, and how far each row may go.

    `words`, where not every word of the vocabulary is in question, names those that are, in
    ascending order and beginning with the special ones: column c of the logits is then the word `words[c]`.
    `numbers`, where the rows are some of many, are theirs among all: whoever draws lots draws by them.
    """

    step: Callable[[Int[Tensor, "R T"], Memory], Float[Tensor, "R V"]]
    memory: Memory
    first: Int[Tensor, "B T"]
    limits: Int[Tensor, "B"]
    end: int
    words: Int[Tensor, "V"] | None = None
    numbers: Sequence[int] = ()

    def named(self, columns: Int[Tensor, "*N"]) -> Int[Tensor, "*N"]:
        return columns if self.words is None else self.words[columns]


class Search(ABC):
    """Chooses words, one step after another, until every row has ended."""

    rows = 1
    """Hypotheses of a sentence that take each step side by side."""

    @abstractmethod
    def write(self, writing: Writing) -> list[list[Hypothesis]]:
        """For every row its hypotheses, the best first."""


def bar(logits: Float[Tensor, "R V"], written: Int[Tensor, "R T"], end: int, shortest: int, no_repeat: int) -> None:
    """Take away, in place, what must not come next; where nothing else is left, a line may end before its time."""
    logits[:, :BARRED] = -torch.inf
    if no_repeat and written.shape[1] >= no_repeat:
        groups = written.unfold(1, no_repeat, 1)
        last = written[:, written.shape[1] - no_repeat + 1 :]
        repeated = (groups[:, :, :-1] == last[:, None]).all(-1)
        rows, places = repeated.nonzero(as_tuple=True)
        logits[rows, groups[rows, places, -1]] = -torch.inf
    if written.shape[1] < shortest:
        logits[:, end] = -torch.inf
        if no_repeat:
            logits[:, end].masked_fill_(logits.isinf().all(-1), 0.0)
