"""The one decoding engine: any model that writes, any way to choose, tokens as they are written."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from regard.decoding.checks import check_room, check_tokens
from regard.decoding.draft import Draft
from regard.decoding.job import Job, Line, Shortlist, never
from regard.decoding.prefixes import numbered
from regard.decoding.request import Event, Finished, Hypothesis, Request
from regard.decoding.runner import Runner
from regard.decoding.search import Search
from regard.decoding.speculative import Speculator
from regard.decoding.workers import alone, side_by_side, stepped, workers
from regard.model.assembly import Writer

ROWS = 320  # requests times hypotheses


class Engine:
    """Writes for requests of any number, with prompts and sources of any lengths.

    At most `rows` hypotheses take a step together; what is finished makes room for what is waiting. Every request
    is answered as if it were alone. `shortlist` says which tokens some requests may call for, `stopped` is asked
    before every step, or every few that go at once: a yes ends it all with StoppedError. With a `draft` texts are
    written one after another, each by several tokens a step.
    """

    def __init__(
        self,
        model: Writer,
        search: Search,
        *,
        stop_tokens: Collection[int],
        forbidden: Collection[int] = (),
        rows: int = ROWS,
        shortlist: Shortlist | None = None,
        stopped: Callable[[], bool] = never,
        draft: Draft | None = None,
    ) -> None:
        self._words = int(model.head.out_features)
        check_tokens("stop_tokens", stop_tokens, self._words)
        check_tokens("forbidden", forbidden, self._words)
        check_room(search.hypotheses, self._words)
        self._job = Job(model, search, frozenset(stop_tokens), frozenset(forbidden), rows, shortlist, stopped)
        self._draft, self._count = draft, 0
        slots = self._job.slots()
        self._line: Line = Runner(self._job, slots) if draft is None else Speculator(self._job, draft)

    def generate(self, requests: Iterable[Request], stopped: Callable[[], bool] | None = None) -> Iterator[Event]:
        """Tokens as soon as they are written, and every request's hypotheses when it is done.

        An event's `place` is that of its request. A beam search knows its tokens only in the end. `stopped` may be
        another one for these requests.
        """
        job, ordered = self._job if stopped is None else replace(self._job, stopped=stopped), numbered(list(requests))
        if self._draft is not None:
            return stepped(Speculator(job, self._draft), ordered)
        count = workers(len(ordered), job.search.hypotheses, job.device)
        check_room(job.search.hypotheses, self._words, count)
        return alone(job, ordered) if count == 1 else side_by_side(job, ordered, count)

    def write(self, requests: Iterable[Request]) -> list[list[Hypothesis]]:
        """The hypotheses of every request, in the order of the requests; the best of each first."""
        requests = list(requests)
        found: list[list[Hypothesis]] = [[] for _ in requests]
        for event in self.generate(requests):
            if isinstance(event, Finished):
                found[event.place] = event.hypotheses
        return found

    def add(self, requests: Sequence[Request]) -> range:
        """Requests to be written beside those that are; the places their events will name, counted over all calls."""
        first = self._count
        self._line.add(numbered(requests, first))
        self._count = first + len(requests)
        return range(first, self._count)

    def step(self) -> list[Event]:
        """One more step of what was added; what it brought."""
        return self._line.step() if self._line.busy else []

    @property
    def busy(self) -> bool:
        """Whether anything that was added is not yet done."""
        return self._line.busy
