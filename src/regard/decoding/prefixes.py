"""Beginnings that prompts have in common: each is read once, whoever goes on from it, in whatever thread."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from threading import Lock
from typing import NamedTuple

import torch

from regard.decoding.compiled.steps import CompiledSteps
from regard.decoding.reading import read
from regard.decoding.request import Request
from regard.model.memory import Memory

LEAST = 16  # tokens that are worth being read apart
DEEPEST = 64  # of beginnings within beginnings

Prompt = tuple[int, ...]


class Prefix:
    """What so many prompts begin with. It is remembered until the last of them has begun."""

    def __init__(self, tokens: Prompt, users: int) -> None:
        self.tokens, self._left = tokens, users
        self._lock = Lock()
        self._memory: Memory | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    def memory(self, steps: CompiledSteps, rows: int, users: int, device: torch.device) -> Memory:
        """What a model remembers of it, as so many rows, from which so many prompts go on."""
        with self._lock:
            if self._memory is None:
                self._memory = steps.model.start(rows=1)
                read(steps, torch.tensor([self.tokens], device=device), self._memory)
            found = self._memory.again(torch.zeros(rows, dtype=torch.long, device=device))
            self._left -= users
            if self._left <= 0:
                self._memory = None
        return found


class Numbered(NamedTuple):
    """A request, the place that its events shall name, and what it begins with like others."""

    place: int
    request: Request
    prefix: Prefix | None = None


def numbered(requests: Sequence[Request], first: int = 0) -> list[Numbered]:
    """Requests in the order in which they are best written: the longest first, so that the last to end are short.

    Those that begin alike stand together. Like lengths do too, so that little is padded.
    """
    found: list[Prefix | None] = [None] * len(requests)
    longest = [len(request.source or ()) + len(request.prompt) for request in requests]
    before = [(-length, place) for place, length in enumerate(longest)]
    if all(request.source is None for request in requests):
        for prefix, places in shared([tuple(request.prompt) for request in requests]):
            most = max(longest[place] for place in places)
            for place in places:
                found[place], before[place] = prefix, (-most, places[0])
    order = sorted(range(len(requests)), key=lambda place: (*before[place], -longest[place], place))
    return [Numbered(first + place, requests[place], found[place]) for place in order]


def shared(prompts: Sequence[Prompt]) -> Iterator[tuple[Prefix, list[int]]]:
    """Beginnings that some prompts have in common, and which these are: those that save the most tokens.

    Every prompt has at least one token of its own, if only its last, from which it goes on.
    """
    order = sorted(range(len(prompts)), key=lambda place: prompts[place])
    alike = [0, *(_alike(prompts[one], prompts[other]) for one, other in pairwise(order))]
    for length, start, stop in _best(alike, 0, len(order), 0)[1]:
        places = order[start:stop]
        yield Prefix(prompts[places[0]][:length], len(places)), places


def _alike(one: Prompt, other: Prompt) -> int:
    """How many tokens two prompts begin with alike, less than either has."""
    most = min(len(one), len(other)) - 1
    if one[:most] == other[:most]:
        return most
    return next(place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)


def _best(alike: list[int], start: int, stop: int, depth: int) -> tuple[int, list[tuple[int, int, int]]]:
    """Tokens saved, and by which beginnings: one for all these prompts, or better ones for some of them each."""
    if stop - start < 2:
        return 0, []
    length = min(alike[start + 1 : stop])
    one = (length * (stop - start - 1), [(length, start, stop)]) if length >= LEAST else (0, [])
    if depth == DEEPEST:
        return one
    cuts = [start, *(place for place in range(start + 1, stop) if alike[place] == length), stop]
    parts = [_best(alike, low, high, depth + 1) for low, high in pairwise(cuts)]
    saved = sum(part[0] for part in parts)
    return one if one[0] >= saved else (saved, [each for part in parts for each in part[1]])
