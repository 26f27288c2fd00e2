"""What is to be written, and the line in which requests wait for it."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain

import torch
from torch import Tensor

from regard.decoding.checks import check_tokens
from regard.decoding.choice import Choice
from regard.decoding.compiled.steps import CompiledSteps
from regard.decoding.prefixes import Numbered
from regard.decoding.request import Event, Request
from regard.decoding.search import Active, Search
from regard.errors import InputError
from regard.model.assembly import Seq2Seq, Writer

TILE = 16  # rows that the compiled step takes at once: fewer cost as much

Shortlist = Callable[[Sequence[Request]], Tensor]


class StoppedError(Exception):
    """Somebody wanted this to end before its time."""


def never() -> bool:
    """Nobody wants it to end."""
    return False


@dataclass(frozen=True)
class Job:
    """What does not change from request to request: the model, how to choose tokens, and when to stop."""

    model: Writer
    search: Search
    stop_tokens: frozenset[int]
    forbidden: frozenset[int]
    rows: int
    shortlist: Shortlist | None
    stopped: Callable[[], bool]
    spare: list[CompiledSteps] = field(default_factory=list)
    """Steps that nobody takes at the moment: to look at a model anew costs as much as some steps of one sentence."""

    all_words: list[Choice] = field(default_factory=list)
    """The choice among all of a vocabulary, once it was made."""

    @property
    def choice(self) -> Choice:
        """Every token of the vocabulary may be written, but for those that are forbidden."""
        head = self.model.head
        if not self.all_words or self.all_words[0].head is not head or self.all_words[0].is_stop.device != self.device:
            self.all_words[:] = [Choice(head, self.stop_tokens, self.forbidden)]
        return self.all_words[0]

    @property
    def device(self) -> torch.device:
        """Where the model is: as its head says, which takes less asking than all of it."""
        head = self.model.head
        return next(chain(head.parameters(), head.buffers(), self.model.parameters())).device

    def steps(self) -> CompiledSteps:
        """Steps for one runner, until it hands them back. Whether they hold is to be asked before texts begin."""
        with suppress(IndexError):  # another thread may be quicker
            return self.spare.pop()
        return CompiledSteps(self.model, self.device)

    def slots(self, requests: int | None = None) -> int:
        """So many requests are written at once: as many as have room for all their hypotheses.

        Where it is known how many there will be, no few of them are left for the end, but for what evens out tiles.
        """
        most = max(1, self.rows // self.search.hypotheses)
        even = most if not requests else -(-requests // -(-requests // most))
        return min(most, -(-even // TILE) * TILE)

    def active(self, numbered: Numbered) -> Active:
        """A request with the number of tokens it may write: no more than the model has positions for."""
        place, request, prefix = numbered
        limit, room = request.max_new_tokens, self.model.limit
        check_tokens("prompt", request.prompt, int(self.model.head.out_features))
        if request.source is not None and isinstance(self.model, Seq2Seq):
            check_tokens("source", request.source, self.model.source.table.num_embeddings)
        if room is not None and len(request.prompt) >= room:
            raise InputError(f"a prompt of {len(request.prompt)} tokens is too long: the model takes in {room} in all")
        limit = limit if room is None else min(limit, room - len(request.prompt))
        return Active(place, request, limit, prefix=prefix)


class Line(ABC):
    """Requests in the order they came; whoever writes them takes from its front, a step at a time."""

    def __init__(self, job: Job) -> None:
        self.job, self._waiting = job, deque[Active]()

    @property
    def busy(self) -> bool:
        """Whether anything is left to write."""
        return bool(self._waiting) or self._writing

    def end(self) -> None:
        """Nothing more will be written: what others can use is handed back."""
        return

    def add(self, requests: Iterable[Numbered]) -> None:
        """Requests with the place their events shall name."""
        self._waiting.extend([self.job.active(each) for each in requests])

    @torch.inference_mode()
    def step(self) -> list[Event]:
        """What one more step of the model brings."""
        if self.job.stopped():
            raise StoppedError
        return self._step()

    @property
    @abstractmethod
    def _writing(self) -> bool:
        """Whether any request has begun and is not done."""

    @abstractmethod
    def _step(self) -> list[Event]:
        """The step itself."""
