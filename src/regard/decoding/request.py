"""What is asked of the decoding engine, and what it answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from regard.errors import InputError

Ids = Sequence[int]


@dataclass(frozen=True)
class Drafted:
    """How many tokens a draft has proposed, how many of them stood, and in how many steps of the model."""

    proposed: int = 0
    accepted: int = 0
    steps: int = 0

    def __add__(self, other: "Drafted") -> "Drafted":
        return Drafted(self.proposed + other.proposed, self.accepted + other.accepted, self.steps + other.steps)


@dataclass(frozen=True)
class Hypothesis:
    """What was written, and how likely it is: log P, and that divided by a power of the length."""

    tokens: list[int]
    log_prob: float
    score: float
    ended: bool = True
    """Whether it came to its end, and was not just as long as it may be."""
    drafted: Drafted | None = None
    """What a draft had to do with it, if there was one."""


@dataclass(frozen=True)
class Request:
    """One thing to write: what comes before it, what is to be read first, and how long it may become.

    `number` is what chance is drawn by: the same number draws the same, in any company. `halted` is asked after every
    token: a yes ends this request, for what only its text can tell.
    """

    prompt: Ids
    source: Ids | None = None
    max_new_tokens: int = 128
    number: int = 0
    halted: Callable[[], bool] | None = None

    def __post_init__(self) -> None:
        if not len(self.prompt):
            raise InputError("prompt: there must be a token to go on from, if only the one that begins a text")
        if self.max_new_tokens < 1:
            raise InputError(f"max_new_tokens: {self.max_new_tokens} leaves nothing to write")
        if self.source is not None and not len(self.source):
            raise InputError("source: there must be a token to read, if only the one that ends a text")


class Token(NamedTuple):
    """A token of request `place`, as soon as it is written. Tokens that end a text are not among them."""

    place: int
    token: int
    log_prob: float


class Finished(NamedTuple):
    """Request `place` is done: all its hypotheses, the best first."""

    place: int
    hypotheses: list[Hypothesis]


Event = Token | Finished
