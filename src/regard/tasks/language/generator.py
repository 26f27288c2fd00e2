"""From a beginning to what follows: any number of texts, token by token, as they are written."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from regard.datasets.chat import encode_chat
from regard.datasets.tokenizer import Tokenizer
from regard.decoding.choice import Choice
from regard.decoding.draft import Draft
from regard.decoding.engine import Engine
from regard.decoding.job import StoppedError
from regard.decoding.request import Finished, Hypothesis, Request, Token
from regard.decoding.sample import OneByOne, Sample
from regard.decoding.search import Active, Search
from regard.decoding.speculative import check_search
from regard.errors import InputError
from regard.model.assembly import LanguageModel
from regard.model.mask import Mask
from regard.model.mode import evaluating
from regard.tasks.language.facts import Facts
from regard.tasks.language.writing import Chat, Chunk, Generated, Text, check_stops

ROWS = 320
FIRST = 5  # characters that are named
ENDLESS = 2**62


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
    carries: bool = False
    """Whether its state went on from window to window while it learnt: then no context is ever full."""

    def drafted(self, other: "TextGenerator", tokens: int = 0) -> "TextGenerator":
        """The same with a smaller one of the same vocabulary, which guesses so many tokens at a time; 0 adapts."""
        check_search(self.search)
        mine, its = (each.tokenizer.engine.get_vocab() for each in (self, other))
        if mine != its:
            same = sum(its.get(token) == number for token, number in mine.items())
            raise InputError(
                f"the draft has another vocabulary: {same:,} of its {len(its):,} tokens are among the model's "
                f"{len(mine):,}\ntrain a draft on the same texts with the run's tokenizer: "
                "tokenizer.kind=pretrained tokenizer.file=RUN/tokenizer.json"
            )
        places = [next(each.model.parameters()).device for each in (self, other)]
        if places[0] != places[1]:
            raise InputError(f"the draft is on {places[1]} and the model on {places[0]}; open both on one device")
        return replace(self, draft=Draft(other.model, tokens, other.room))

    @property
    def window(self) -> int:
        """Tokens that it has learnt to read at once."""
        limit = self.model.limit
        return self.context if limit is None else min(limit, self.context)

    @property
    def room(self) -> int:
        """Tokens that a prompt and what follows may have together."""
        return ENDLESS if self.carries else self.window

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
        check_stops(stop)
        if samples > 1 and not isinstance(self.search, Sample):
            raise InputError(
                "nothing is drawn here, so that all samples would be the same text; leave out ",
                call="samples=…",
                flag="--samples",
            )
        texts = [
            self._begun(prompt, tokens, stop, place)
            for place, prompt in enumerate(each for each in prompts for _ in range(samples))
        ]
        for text in texts:
            number = first + text.place // samples + 1 if first or len(prompts) > 1 else None
            self.check_seen(text.prompt, text.ids, "prompt", number)
            if not slide:
                text.check(self.room, number)
        return self._written(texts, first * samples, slide, stopped)

    def go_on(self, ids: Sequence[int], tokens: int) -> list[int]:
        """Behind some ids, so many tokens more at most, as ids; all of it, the beginning too."""
        more = min(tokens, self.window - len(ids))
        if more < 1:
            return list(ids)
        engine = Engine(self.model, self.search, stop_tokens=self.facts.stops, forbidden=self._never())
        with evaluating(self.model):
            ((best, *_),) = engine.write([Request(list(ids), None, more)])
        return [*ids, *best.tokens]

    @cached_property
    def _engine(self) -> Engine:
        """One for all texts: what it knows of the model serves the next, too."""
        stops, never = self.facts.stops, self._never()
        return Engine(self.model, self.search, stop_tokens=stops, forbidden=never, rows=ROWS, draft=self.draft)

    def _never(self) -> list[int]:
        """Tokens that are no text: what begins one, and those that the tokenizer does not know."""
        unknown = range(len(self.tokenizer), int(self.model.head.out_features))
        return [*sorted(self.tokenizer.special - set(self.facts.stops)), *unknown]

    def check_seen(self, text: str, ids: Sequence[int], called: str, number: int | None = None) -> None:
        """Refuse characters of which a model of characters has never seen one; texts are told by number if several."""
        unseen = frozenset(self.facts.unseen)
        if unseen.isdisjoint(ids):
            return
        letters = list(dict.fromkeys(text))
        spelt = zip(letters, self.tokenizer.encode(letters), strict=True)
        unknown = [repr(letter) for letter, ids in spelt if not unseen.isdisjoint(ids)]
        which = f"the {called}" if number is None else f"{called} {number:,}"
        raise InputError(
            f"{which} has characters that were nowhere in the texts this model has learnt from: "
            f"{', '.join(unknown[:FIRST])}{' …' if len(unknown) > FIRST else ''}; leave them out"
        )

    def _begun(self, prompt: str | Chat, tokens: int, stop: Sequence[str], place: int) -> Text:
        ids = self.encode(prompt) if isinstance(prompt, str) else self.encode_chat(prompt)
        return Text(prompt, ids, self.tokenizer.stream(ids), tokens, stop, place)

    def _written(
        self, going: list[Text], first: int, slide: bool, stopped: Callable[[], bool]
    ) -> Iterator[Chunk | tuple[int, Generated]]:
        while going:
            yield from self._round(going, first, slide, stopped)
            going = [text for text in going if not text.done]
            if stopped():
                for text in going:
                    yield from text.finish(text.why or "stopped")
                return

    def _round(
        self, texts: list[Text], first: int, slide: bool, stopped: Callable[[], bool]
    ) -> Iterator[Chunk | tuple[int, Generated]]:
        requests = [text.request(self.room, first) for text in texts]
        try:
            with evaluating(self.model), evaluating(self.model if self.draft is None else self.draft.model):
                for event in self._engine.generate(requests, stopped):
                    text = texts[event.place]
                    if isinstance(event, Token):
                        yield from text.add(event)
                    elif isinstance(event, Finished):
                        best = event.hypotheses[0]
                        for token in self._told_late(text, best):
                            yield from text.add(token)
                        yield from text.end(best, slide)
        except StoppedError:
            return

    @torch.inference_mode()
    def _told_late(self, text: Text, found: Hypothesis) -> list[Token]:
        """Tokens of a beam search, which knows them only in the end; how likely each was is read anew."""
        if isinstance(self.search, OneByOne) or not found.tokens:
            return []
        row = torch.tensor([[*text.ids, *found.tokens]], device=next(self.model.parameters()).device)
        states = self.model.states(row[:, :-1], Mask())[0, -len(found.tokens) :]
        choice = Choice(self.model.head, self.facts.stops, self._never())
        active = Active(text.place, Request(list(text.ids), None, len(found.tokens)), len(found.tokens))
        told = zip(found.tokens, self.search.log_probs(active, found.tokens, states, choice), strict=True)
        return [Token(text.place, token, log_prob) for token, log_prob in told]
