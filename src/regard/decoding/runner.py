"""Requests that come and go: slots that become free are filled again."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.decoding.checks import check_held, check_tokens
from regard.decoding.choice import Choice
from regard.decoding.compiled.steps import CompiledSteps
from regard.decoding.group import Group
from regard.decoding.prefixes import Numbered, Prefix
from regard.decoding.request import Event, Request
from regard.decoding.search import Active, Search
from regard.errors import InputError
from regard.model.assembly import Seq2Seq, Writer

WIDE = 320  # hypotheses of one request: from here on what they remember is watched
TILE = 16  # rows that the compiled step takes at once: fewer cost as much
REFILL = 2  # one slot in so many must be free before new requests join: joining copies what is remembered

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

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

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


class Runner:
    """One batch that steps on while requests come and go."""

    def __init__(self, job: Job, slots: int) -> None:
        self.job, self.slots, self._waiting = job, slots, deque[Active]()
        self._group: Group | None = None
        self._choice: Choice | None = None
        self._steps = CompiledSteps(job.model, job.device)

    @property
    def busy(self) -> bool:
        """Whether anything is left to write."""
        return bool(self._waiting) or self._group is not None

    def add(self, requests: Iterable[Numbered]) -> None:
        """Requests with the place their events shall name; they wait for free slots, in this order."""
        self._waiting.extend([self.job.active(each) for each in requests])

    @torch.inference_mode()
    def step(self) -> list[Event]:
        """What one more step brings: a step of those who join, or of all."""
        if self.job.stopped():
            raise StoppedError
        here = 0 if self._group is None else len(self._group)
        free = self.slots - here
        if self._waiting and (not here or free * REFILL >= self.slots):
            return self._admit(min(free, len(self._waiting)))
        if self._group is None:
            return []
        assert self._choice is not None
        events = self._group.step(self._choice)
        if self.job.search.hypotheses > WIDE:
            check_held(self._group.nbytes, self.job.search.hypotheses)
        self._group = self._group if len(self._group) else None
        return events

    def _admit(self, count: int) -> list[Event]:
        """The first step of new requests, those with prompts of one length and one beginning together; then of all."""
        new = [self._waiting.popleft() for _ in range(count)]
        here = [] if self._group is None else self._group.running.active
        choice = self._choice = self._choice_for([each.request for each in (*here, *new)])
        alike: dict[tuple[int, Prefix | None], list[Active]] = {}
        for each in new:
            alike.setdefault((len(each.request.prompt), each.prefix), []).append(each)
        groups = [Group(self._steps, self.job.search, some, self.job.device) for some in alike.values()]
        events = [event for group in groups for event in group.step(choice)]
        going = [group for group in (self._group, *groups) if group is not None and len(group)]
        if len(going) > 1:
            going[0].join(going[1:])
        self._group = going[0] if going else None
        return events

    def _choice_for(self, requests: list[Request]) -> Choice:
        """All tokens, or those that the requests at hand may call for."""
        job = self.job
        if job.shortlist is not None:
            return Choice(job.model.head, job.stop_tokens, job.forbidden, job.shortlist(requests))
        return self._choice or Choice(job.model.head, job.stop_tokens, job.forbidden)
