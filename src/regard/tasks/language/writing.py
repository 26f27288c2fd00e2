"""A text while it is written: token by token, what is certain of it, and why it ends."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from regard.datasets.tokenizer.tokenizer import TextStream
from regard.decoding.request import Drafted, Hypothesis, Request, Token
from regard.errors import InputError
from regard.markup import Answer

SLIDES = 15_485_863  # between the numbers of a text before a token and after it; not what seeds are multiplied by
SHORTEST = 2  # of a context that slides, one in so many tokens is kept

Chat = Sequence[Mapping[str, str]]
Why = Literal["end", "stop", "length", "context", "stopped"]
"""Why a text ended: the model ended it, a stop string came, it was as long as asked for, or its context was full."""


@dataclass(frozen=True)
class Written:
    """One token: what it adds to the text, and how likely it was."""

    text: str
    token: int
    log_prob: float


@dataclass
class Generated(Answer):
    """A prompt, and what was written behind it."""

    heads = ("prompt", "text", " tokens", " log P", "ended by")

    prompt: str
    text: str = ""
    tokens: list[Written] = field(default_factory=list)
    why: Why = "stopped"
    drafted: Drafted | None = None
    """What a draft guessed of it, if there was one."""

    @property
    def log_prob(self) -> float:
        """Of all that was written."""
        return sum((token.log_prob for token in self.tokens), 0.0)

    def rows(self) -> list[tuple[str, ...]]:
        """One row."""
        return [(self.prompt, self.text, f"{len(self.tokens):,}", f"{self.log_prob:.2f}", self.why)]


@dataclass(frozen=True)
class Chunk:
    """More of text number `place`: what is certain of it now. `written` is the token that brought it."""

    place: int
    text: str
    written: Written | None = None


def check_stops(stop: Sequence[str]) -> None:
    """An empty text would come at once, and was hardly meant."""
    if not all(stop):
        raise InputError("an empty text ends nothing; leave out ", call="'' in stop=…", flag="--stop ''")


class Text:
    """One text while it is written."""

    def __init__(
        self, prompt: str | Chat, ids: list[int], stream: TextStream, tokens: int, stop: Sequence[str], place: int
    ) -> None:
        self.prompt = prompt if isinstance(prompt, str) else str(prompt[-1].get("content", ""))
        self.ids, self.left, self.place, self.why = ids, tokens, place, None
        self._stream, self._stop = stream, stop
        self._longest = max(map(len, self._stop), default=0)
        self._made = Generated(self.prompt)
        self._held = ""
        self.done = False

    why: Why | None
    """Why it ends; None while it need not."""

    def check(self, room: int, number: int | None) -> None:
        """Refuse a prompt that leaves no room, by its number where there are several."""
        if len(self.ids) >= room:
            which = "" if number is None else f" (number {number:,})"
            raise InputError(
                f"a prompt of {len(self.ids):,} tokens{which}, and the model takes in {room:,} in all; shorten it, or ",
                call="slide=True keeps its end",
                flag="--slide keeps its end",
            )

    def request(self, room: int, first: int) -> Request:
        """The rest of it, or as much as fits."""
        if len(self.ids) >= room:
            kept = max(1, room // SHORTEST)
            self.ids = self.ids[-kept:]
        most = min(self.left, room - len(self.ids))
        number = SLIDES * len(self._made.tokens) + first + self.place  # another draw after every slide
        return Request(list(self.ids), None, most, number, lambda: self.why is not None)

    def add(self, event: Token) -> Iterator[Chunk]:
        """One token more."""
        if self.why is not None:  # it was to end, and the engine has not heard of it yet
            return
        self.ids.append(event.token)
        self.left -= 1
        text = self._stream.add(event.token)
        written = Written(text, event.token, event.log_prob)
        self._made.tokens.append(written)
        yield from self._told(text, written)

    def _told(self, text: str, written: Written | None) -> Iterator[Chunk]:
        """What can be told: what may be the beginning of a stop string is held back."""
        self._held += text
        found = [self._held.find(one) for one in self._stop]
        first = min((place for place in found if place >= 0), default=-1)
        if first >= 0:
            self._held, self.why = self._held[:first], "stop"
        certain = len(self._held) if first >= 0 else len(self._held) - self._begun()
        told, self._held = self._held[:certain], self._held[certain:]
        self._made.text += told
        if told or written is not None:
            yield Chunk(self.place, told, written)

    def _begun(self) -> int:
        """How many characters at the end may be the beginning of a stop string."""
        most = min(self._longest - 1, len(self._held))
        ends = (n for n in range(most, 0, -1) if any(one.startswith(self._held[-n:]) for one in self._stop))
        return next(ends, 0)

    def end(self, found: Hypothesis, slide: bool) -> Iterator[Chunk | tuple[int, Generated]]:
        """The engine is done with it; it goes on later where only the context was full, and is to slide."""
        if found.drafted is not None:
            self._made.drafted = (self._made.drafted or Drafted()) + found.drafted
        why = self.why or ("end" if found.ended else "length" if self.left <= 0 else "context")
        if why != "context" or not slide:
            yield from self.finish(why)

    def finish(self, why: Why) -> Iterator[Chunk | tuple[int, Generated]]:
        """What was held back, unless it is what a stop string cut off; then all of it."""
        self.why, self.done = why, True
        rest = "" if why == "stop" else self._held + self._stream.rest()
        self._made.text += rest
        if rest:
            yield Chunk(self.place, rest)
        yield self.place, replace(self._made, why=why)
