"""The contract of all ways to write: one step after another, for rows that need not be of one age."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from inspect import signature
from itertools import compress
from typing import ClassVar, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from regard.decoding.checks import whole
from regard.decoding.choice import Choice, forbid
from regard.decoding.compiled.leap import Beams, Leap
from regard.decoding.prefixes import Prefix
from regard.decoding.request import Event, Hypothesis, Request
from regard.errors import NoNumbersError

AT_ONCE = 64  # tokens of a text that are scored at a time
BLANK = -1  # before a row's own tokens, where others have written more


@dataclass
class Active:
    """One request while it is written."""

    place: int
    request: Request
    limit: int
    """So many tokens may be written: what was asked for, or what the model has positions for."""
    ended: list[Hypothesis] = field(default_factory=list)
    random: torch.Generator | None = None
    prefix: Prefix | None = None
    """What its prompt begins with like those of others."""


class Running:
    """What all requests at hand have written so far, one row a hypothesis; tokens are aligned at the last."""

    def __init__(self, active: list[Active], device: torch.device, hypotheses: int) -> None:
        self.active = active
        self.written = torch.zeros(len(active) * hypotheses, 0, dtype=torch.long, device=device)
        self.scores = torch.zeros(len(active) * hypotheses, device=device)
        self.age = torch.zeros(len(active), dtype=torch.long, device=device)
        self.limit = torch.tensor([each.limit for each in active], device=device)

    def __len__(self) -> int:
        return len(self.active)

    def early(self, min_length: int) -> Int[Tensor, "E"] | None:
        """The rows that may not end yet."""
        if not min_length:
            return None
        share = len(self.written) // max(1, len(self.age))
        return (self.age < min_length).repeat_interleave(share).nonzero().flatten()

    def keep(self, requests: Int[Tensor, "b"]) -> None:
        """Only these requests go on."""
        self.active = [self.active[place] for place in requests.tolist()]
        self.age, self.limit = self.age[requests], self.limit[requests]

    def over(self, events: list[Event]) -> "NextTokens":
        """All requests are done, and nothing comes next."""
        self.active = []
        return NextTokens(self.age[:0, None], None, events)

    def join(self, others: "Sequence[Running]") -> None:
        """Requests that began later go on beside those that are here."""
        parts = [self, *others]
        lines = [part.written[:, part.written.shape[1] - part._oldest() :] for part in parts]
        longest = max(line.shape[1] for line in lines)
        self.written = torch.cat([F.pad(line, (longest - line.shape[1], 0), value=BLANK) for line in lines])
        self.scores = torch.cat([part.scores for part in parts])
        self.age, self.limit = torch.cat([part.age for part in parts]), torch.cat([part.limit for part in parts])
        self.active = [each for part in parts for each in part.active]

    def _oldest(self) -> int:
        return int(self.age.max()) if len(self.age) else 0


def beginnings(active: Active, written: Int[Tensor, "T"], more: list[int]) -> Running:
    """A text before each of some more tokens, and behind them all: a row each."""
    count = len(more)
    running = Running([active] * (count + 1), written.device, 1)
    line = torch.cat([written, written.new_tensor(more)])
    lines = [F.pad(line[: len(written) + n], (count - n, 0), value=BLANK) for n in range(count + 1)]
    running.written = torch.stack(lines)
    running.age = torch.arange(len(written), len(line) + 1, device=written.device)
    return running


class NextTokens(NamedTuple):
    """What a step came to: the next token of every row that goes on, and from which row; None: each from itself."""

    tokens: Int[Tensor, "R 1"]
    back: Int[Tensor, "R"] | None
    events: list[Event]


class Search(ABC):
    """Chooses the next tokens of all rows at hand, and says which requests are done."""

    hypotheses = 1
    """Rows of a request that take each step side by side."""
    in_title: ClassVar[tuple[str, ...]] = ()
    """Options that the title says already."""

    def __init__(self, min_length: int = 0, no_repeat_ngram_size: int = 0) -> None:
        self.min_length = whole("min_length", min_length, 0)
        self.no_repeat_ngram_size = whole("no_repeat_ngram_size", no_repeat_ngram_size, 0)

    def __str__(self) -> str:
        """As people say it: the kind of search, and what it does otherwise than usual."""
        usual = signature(type(self)).parameters
        more = [f"{name} {getattr(self, name)}" for name in usual if name not in self.in_title]
        unlike = [getattr(self, name) != usual[name].default for name in usual if name not in self.in_title]
        return ", ".join([self.title, *compress(more, unlike)])

    @property
    def title(self) -> str:
        """The kind of search in a word or two."""
        return type(self).__name__.lower()

    def start(self, active: list[Active], device: torch.device) -> Running:
        """Requests before their first step."""
        return Running(active, device, self.hypotheses)

    def step(self, running: Running, logits: Float[Tensor, "R V"], choice: Choice) -> NextTokens:
        """One more token for every row; `running` is brought up to date."""
        forbid(logits, running.written, running.early(self.min_length), choice, self.no_repeat_ngram_size)
        return self.choose(running, logits, choice)

    def log_probs(
        self, active: Active, tokens: list[int], states: Float[Tensor, "N D"], choice: Choice
    ) -> Iterator[float]:
        """log P of every token of a text given the states before them, of what was not forbidden there."""
        line = torch.tensor(tokens, device=states.device)
        for first in range(0, len(tokens), AT_ONCE):
            some = line[first : first + AT_ONCE]
            running = beginnings(active, line[:first], some[:-1].tolist())
            logits: Tensor = choice.head(states[first : first + AT_ONCE])
            forbid(logits, running.written, running.early(self.min_length), choice, self.no_repeat_ngram_size)
            columns, _ = choice.columns(some)
            yield from logits.log_softmax(-1).gather(1, columns[:, None])[:, 0].tolist()

    def beams(self, running: Running, choice: Choice) -> Beams | None:
        """How it stands, for whoever can take several steps at once; None: they have to be taken one by one."""
        return None

    def leapt(self, running: Running, leap: Leap) -> NextTokens:
        """What several steps came to that were taken at once; `running` is brought up to date."""
        raise NotImplementedError

    @abstractmethod
    def choose(self, running: Running, logits: Float[Tensor, "R V"], choice: Choice) -> NextTokens:
        """The same, of what is not forbidden."""


def not_numbers() -> NoNumbersError:
    """What is said when there is nothing to choose between: no number among the scores, or all forbidden."""
    return NoNumbersError(
        "no token can be chosen: the model's scores are not numbers (NaN, its weights are damaged), "
        "or every token is forbidden: lower decoding.no_repeat_ngram_size or decoding.min_length"
    )
