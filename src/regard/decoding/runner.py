"""Requests that come and go: slots that become free are filled again."""

from regard.decoding.checks import check_held
from regard.decoding.choice import Choice
from regard.decoding.compiled.steps import CompiledSteps
from regard.decoding.group import Group
from regard.decoding.job import Job, Line
from regard.decoding.prefixes import Prefix
from regard.decoding.request import Event, Request
from regard.decoding.search import Active

WIDE = 320  # hypotheses of one request: from here on what they remember is watched
LEFT = 2  # one slot in so many may still be taken when new requests join: joining copies what is remembered, …
LEFT_COMPILED = 8  # … and fewer rows cost less where a step is compiled


class Runner(Line):
    """One batch that steps on while requests come and go."""

    def __init__(self, job: Job, slots: int) -> None:
        super().__init__(job)
        self.slots = slots
        self._group: Group | None = None
        self._choice: Choice | None = None
        self._steps = job.steps()

    @property
    def _writing(self) -> bool:
        return self._group is not None

    def end(self) -> None:
        if self._steps.rest():
            self.job.spare.append(self._steps)

    def _step(self) -> list[Event]:
        """A step of those who join, or of all."""
        here = 0 if self._group is None else len(self._group)
        if self._waiting and here <= self._fewest:
            return self._admit(min(self.slots - here, len(self._waiting)))
        # whoever asks is busy: nothing to do here would be asked for again, for ever
        assert self._group is not None
        assert self._choice is not None
        events = self._group.step(self._choice, self._fewest)
        if self.job.search.hypotheses > WIDE:
            check_held(self._group.nbytes, self.job.search.hypotheses)
        self._group = self._group if len(self._group) else None
        return events

    @property
    def _fewest(self) -> int:
        """No more requests than these may be left for those who wait to join them."""
        return self.slots // (LEFT_COMPILED if self._steps.compiled else LEFT) if self._waiting else 0

    def _admit(self, count: int) -> list[Event]:
        """The first step of new requests, those with prompts of one length and one beginning together; then of all."""
        new = [self._waiting.popleft() for _ in range(count)]
        here = [] if self._group is None else self._group.running.active
        if not here and not self._steps.hold:
            self._steps = CompiledSteps(self.job.model, self.job.device)
        choice = self._choice = self._choice_for([each.request for each in (*here, *new)])
        if count == 1 and not here and (done := self._alone(new[0], choice)) is not None:
            return done
        alike: dict[tuple[int, Prefix | None], list[Active]] = {}
        for each in new:
            alike.setdefault((len(each.request.prompt), each.prefix), []).append(each)
        groups = [Group(self._steps, self.job.search, some, self.job.device) for some in alike.values()]
        alone = not here and len(groups) == 1
        events = [event for group in groups for event in group.step(choice, self._fewest if alone else len(group))]
        going = [group for group in (self._group, *groups) if group is not None and len(group)]
        if len(going) > 1:
            going[0].join(going[1:])
        self._group = going[0] if going else None
        return events

    def _alone(self, active: Active, choice: Choice) -> list[Event] | None:
        """All of a sentence that nobody waits beside, where the machine code does that at once."""
        request, search = active.request, self.job.search
        if request.source is None or len(request.prompt) > 1:
            return None
        running = search.start([active], self.job.device)
        beams = search.beams(running, choice)
        leap = None if beams is None else self._steps.alone(request.source, request.prompt[0], beams)
        return None if leap is None else search.leapt(running, leap).events

    def _choice_for(self, requests: list[Request]) -> Choice:
        """All tokens, or those that the requests at hand may call for."""
        job = self.job
        if job.shortlist is not None:
            return Choice(job.model.head, job.stop_tokens, job.forbidden, job.shortlist(requests))
        return self._choice or job.choice
