"""Rows that take each step together."""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.decoding.choice import Choice
from regard.decoding.compiled.steps import CompiledSteps
from regard.decoding.reading import next_logits
from regard.decoding.request import Event
from regard.decoding.search import Active, NextTokens, Search

FEW = 16  # hypotheses of requests that have just begun


class Group:
    """Some requests, the model's memory of them, and the tokens it is told next.

    All of a new group have prompts of one length, so none is padded; its first step takes them in, a block at a time,
    from where their common beginning ends, if they have one. Prompts that are alike to the end are read as one.
    """

    def __init__(self, steps: CompiledSteps, search: Search, active: list[Active], device: torch.device) -> None:
        self.steps, self.model, self.search = steps, steps.model, search
        self.running = search.start(active, device)
        requests = [each.request for each in active]
        sources = [request.source for request in requests if request.source is not None]
        if sources and len(sources) < len(requests):
            raise ValueError("requests with a source and requests without one cannot be written together")
        model = self.model
        self._own: Tensor | None = None
        prefix = active[0].prefix
        prompts = [tuple(request.prompt[0 if prefix is None else len(prefix) :]) for request in requests]
        if not sources and len(set(prompts)) < len(prompts):
            places = {prompt: place for place, prompt in enumerate(dict.fromkeys(prompts))}
            self._own = torch.tensor([places[prompt] for prompt in prompts], device=device)
            prompts = list(places)
        self._given = torch.tensor(prompts, device=device)
        if prefix is not None:
            self._memory = prefix.memory(steps, len(prompts), len(requests), device)
        else:
            self._memory = steps.start(*_padded(sources, device)) if sources else model.start(rows=len(prompts))
        self._fresh = True
        few = search.hypotheses == 1 or len(requests) * search.hypotheses <= FEW
        if few and self._own is None and self._given.shape[1] == 1 and self._memory.roomy:
            self._part()

    def __len__(self) -> int:
        return len(self.running)

    def _part(self) -> None:
        """Let hypotheses take their first step side by side, too: a few rows cost no more than one."""
        if self.search.hypotheses > 1:
            self._memory.spread(self.search.hypotheses)
            self._given = self._given.repeat_interleave(self.search.hypotheses, 0)
        self._fresh = False

    @property
    def nbytes(self) -> int:
        """What the model remembers of all rows."""
        return self._memory.nbytes

    def step(self, choice: Choice, fewest: int = 0) -> list[Event]:
        """One more token for every row, or some where the search goes on by itself; what is finished leaves.

        It goes on no further where only the `fewest` requests are left.
        """
        leap = None
        beams = None if self._fresh else self.search.beams(self.running, choice)
        if beams is not None:
            leap = self.steps.leap(self._given, self._memory, beams, fewest)
        self._given, back, events = self._one_step(choice) if leap is None else self.search.leapt(self.running, leap)
        if back is not None and len(back):
            self._memory.reorder(back)
        return events

    def _one_step(self, choice: Choice) -> NextTokens:
        logits = next_logits(self.steps, self._given, self._memory, choice.head)
        if self._own is not None:
            self._memory.reorder(self._own)
            logits, self._own = logits[self._own], None
        if self._fresh and self.search.hypotheses > 1:
            self._memory.spread(self.search.hypotheses)
            logits = logits.repeat_interleave(self.search.hypotheses, 0)
        self._fresh = False
        return self.search.step(self.running, logits, choice)

    def join(self, others: "Sequence[Group]") -> None:
        """Go on together with groups that have taken their first step."""
        self._memory.join([other._memory for other in others])
        self.running.join([other.running for other in others])
        self._given = torch.cat([self._given, *(other._given for other in others)])


def _padded(sources: "Sequence[Sequence[int]]", device: torch.device) -> tuple[Tensor, Tensor]:
    """Sources as rows of one length, and how much of each is real."""
    lengths = [len(source) for source in sources]
    longest = max(lengths)
    rows = [[*source, *[0] * (longest - len(source))] for source in sources]
    return torch.tensor(rows, dtype=torch.long, device=device), torch.tensor(lengths, device=device)
