"""From a beginning to what follows: any number of texts, token by token, as they are written."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch

from regard.datasets.chat import encode_chat
from regard.datasets.tokenizer import Tokenizer
from regard.datasets.tokenizer.tokenizer import TextStream
from regard.decoding.draft import Draft
from regard.decoding.engine import Engine
from regard.decoding.job import StoppedError
from regard.decoding.request import Drafted, Finished, Hypothesis, Request, Token
from regard.decoding.sample import OneByOne
from regard.decoding.search import Search
from regard.decoding.speculative import check_search
from regard.errors import InputError
from regard.model.assembly import LanguageModel
from regard.model.mask import Mask
from regard.model.mode import evaluating
from regard.tasks.language.facts import Facts
from regard.tasks.language.loss import label_surprises

ROWS = 320
SAMPLES = 1_000_003  # between the numbers of the samples of a prompt
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
class Generated:
    """A prompt, and what was written behind it."""

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


@dataclass(frozen=True)
class Chunk:
    """More of text number `place`: what is certain of it now. `written` is the token that brought it."""

    place: int
    text: str
    written: Written | None = None


@dataclass(frozen=True)
class TextGenerator:
    """A trained language model with its tokenizer, ready to write. It has learnt to look back `context` tokens."""

    model: LanguageModel
    tokenizer: Tokenizer
    facts: Facts
    search: Search
    context: int
    template: str | None = None
    """How a chat is written for it, in Jinja, if it chats."""
    draft: Draft | None = None
    """A smaller model that guesses what comes next."""

    def drafted(self, other: "TextGenerator", tokens: int = 0) -> "TextGenerator":
        """The same with a smaller one of the same vocabulary, which guesses so many tokens at a time; 0 adapts."""
        check_search(self.search)
        mine, its = (each.tokenizer.engine.get_vocab() for each in (self, other))
        if mine != its:
            unlike = sum(its.get(token) != number for token, number in mine.items())
            raise InputError(
                f"the draft has another vocabulary: of {len(mine):,} tokens {unlike:,} are not among its {len(its):,}, "
                "or have another number; train a draft with the run's tokenizer, on the same texts"
            )
        places = [next(each.model.parameters()).device for each in (self, other)]
        if places[0] != places[1]:
            raise InputError(f"the draft is on {places[1]} and the model on {places[0]}; open both on one device")
        return replace(self, draft=Draft(other.model, tokens, other.room))

    @property
    def room(self) -> int:
        """Tokens that a prompt and what follows may have together."""
        limit = self.model.limit
        return self.context if limit is None else min(limit, self.context)

    def encode(self, text: str) -> list[int]:
        """A prompt as the model reads it, behind the token that begins a text."""
        ids = self.tokenizer.encode([text])[0]
        return [self.facts.begin, *ids] if self.facts.begins or not ids else ids

    def encode_chat(self, messages: Sequence[Mapping[str, str]]) -> list[int]:
        """A chat as the model's own template writes it, up to where the model answers."""
        if self.template is None:
            raise InputError("this model has no chat template; it goes on with texts")
        try:
            return encode_chat(self.tokenizer, self.template, messages)
        except InputError as error:
            raise InputError(f"{error}", flag="; --no-chat goes on with the text alone") from error

    def generate(self, prompts: Sequence[str | Chat], tokens: int = 200, **how: object) -> list[Generated]:
        """All prompts, each with what follows; `how` as for `stream`."""
        found = dict[int, Generated]()
        for event in self.stream(prompts, tokens, **how):  # type: ignore[arg-type]
            if not isinstance(event, Chunk):
                found[event[0]] = event[1]
        return [found[place] for place in sorted(found)]

    def stream(
        self,
        prompts: Sequence[str | Chat],
        tokens: int = 200,
        *,
        samples: int = 1,
        stop: Sequence[str] = (),
        slide: bool = False,
        first: int = 0,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Iterator[Chunk | tuple[int, Generated]]:
        """Text as it is certain, and every text when it is done; sample s of prompt p has the place p·samples + s.

        A prompt may be a chat: messages with a role and a content each.
        `first` is the number of the first prompt among all, where there are more: chance is drawn by it.
        What cannot be written is refused at once. Where the context is full a text ends, or, if it is to `slide`, its
        older half is forgotten and it goes on.
        """
        jobs = [
            _Job(self, prompt, self._ids(prompt), tokens, stop, place)
            for place, prompt in enumerate(each for each in prompts for _ in range(samples))
        ]
        for job in jobs:
            job.fit(slide, first + job.place // samples + 1 if first or len(prompts) > 1 else None)
        return self._written(jobs, first * samples, slide, stopped)

    def go_on(self, ids: Sequence[int], tokens: int) -> list[int]:
        """Behind some ids, so many tokens more at most, as ids; all of it, the beginning too."""
        more = min(tokens, self.room - len(ids))
        if more < 1:
            return list(ids)
        engine = Engine(self.model, self.search, stop_tokens=self.facts.stops, forbidden=self._never())
        with evaluating(self.model):
            ((best, *_),) = engine.write([Request(list(ids), None, more)])
        return [*ids, *best.tokens]

    def _never(self) -> list[int]:
        """Tokens that are no text: what begins one, and those that the tokenizer does not know."""
        unknown = range(len(self.tokenizer), int(self.model.head.out_features))
        return [*sorted(self.tokenizer.special - set(self.facts.stops)), *unknown]

    def _ids(self, prompt: str | Chat) -> list[int]:
        return self.encode(prompt) if isinstance(prompt, str) else self.encode_chat(prompt)

    def _written(
        self, going: "list[_Job]", first: int, slide: bool, stopped: Callable[[], bool]
    ) -> Iterator[Chunk | tuple[int, Generated]]:
        while going:
            yield from self._round(going, first, slide, stopped)
            going = [job for job in going if not job.done]
            if stopped():
                for job in going:
                    yield from job.finish(job.why or "stopped")
                return

    def _round(
        self, jobs: "list[_Job]", first: int, slide: bool, stopped: Callable[[], bool]
    ) -> Iterator[Chunk | tuple[int, Generated]]:
        engine = Engine(
            self.model,
            self.search,
            stop_tokens=self.facts.stops,
            forbidden=self._never(),
            rows=ROWS,
            stopped=stopped,
            draft=self.draft,
        )
        requests = [job.request(self.room, first) for job in jobs]
        try:
            with evaluating(self.model), evaluating(self.model if self.draft is None else self.draft.model):
                for event in engine.generate(requests):
                    job = jobs[event.place]
                    if isinstance(event, Token):
                        yield from job.add(event)
                    elif isinstance(event, Finished):
                        best = event.hypotheses[0]
                        for token in self._told_late(job, best):
                            yield from job.add(token)
                        yield from job.end(best, slide)
        except StoppedError:
            return

    @torch.inference_mode()
    def _told_late(self, job: "_Job", found: Hypothesis) -> list[Token]:
        """Tokens of a beam search, which knows them only in the end; how likely each was is read anew."""
        if isinstance(self.search, OneByOne) or not found.tokens:
            return []
        row = torch.tensor([[*job.ids, *found.tokens]], device=next(self.model.parameters()).device)
        costs = label_surprises(self.model, self.model.states(row[:, :-1], Mask()), row[:, 1:])[0].tolist()
        return [
            Token(job.place, token, -cost)
            for token, cost in zip(found.tokens, costs[-len(found.tokens) :], strict=True)
        ]


class _Job:
    """One text while it is written."""

    def __init__(
        self, generator: TextGenerator, prompt: str | Chat, ids: list[int], tokens: int, stop: Sequence[str], place: int
    ) -> None:
        self.ids, self.left, self.place, self.why = ids, tokens, place, None
        self._generator, self._stop = generator, [one for one in stop if one]
        self._longest = max(map(len, self._stop), default=0)
        self._stream: TextStream = generator.tokenizer.stream(ids)
        self._made = Generated(prompt if isinstance(prompt, str) else str(prompt[-1].get("content", "")))
        self._held = ""
        self.done = False

    why: Why | None
    """Why it ends; None while it need not."""

    def fit(self, slide: bool, number: int | None) -> None:
        """Refuse a prompt that leaves no room, by its number where there are several; who slides keeps its end."""
        room = self._generator.room
        if len(self.ids) >= room and not slide:
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
        number = SAMPLES * len(self._made.tokens) + first + self.place  # another draw after every slide
        return Request(self.ids, None, most, number, lambda: self.why is not None)

    def add(self, event: Token) -> Iterator[Chunk]:
        """One token more."""
        if self.why is not None:  # it was to end, and the engine has not heard of it yet
            return
        self.ids = [*self.ids, event.token]
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
