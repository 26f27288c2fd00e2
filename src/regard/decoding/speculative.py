"""Speculative decoding: a draft guesses some tokens, the model reads them all in one step and keeps what it would say.

A guess x, drawn by the draft's chances q, stands with the chance min(1, p(x) / q(x)), where p are the model's; where
one falls, the token is drawn by max(0, p - q), and behind the last one by p. So every token has exactly the model's
chances, whatever the draft [Leviathan, Kalman & Matias 2023; Chen et al. 2023]. One text is written at a time: with
many rows a step reads the weights once for all of them already.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.decoding.checks import check_tokens
from regard.decoding.choice import Choice
from regard.decoding.compiled.steps import CompiledSteps
from regard.decoding.draft import Draft, Guesser, uniform
from regard.decoding.job import Job, Line
from regard.decoding.reading import all_logits, read
from regard.decoding.request import Drafted, Event, Finished, Hypothesis, Token
from regard.decoding.sample import OneByOne, fallen
from regard.decoding.search import Active, Search, beginnings, not_numbers
from regard.errors import InputError
from regard.model.memory import Memory


def check_search(search: Search) -> None:
    """Refuse a search that keeps several texts at once."""
    if not isinstance(search, OneByOne):
        raise InputError(
            "a draft guesses what one text goes on with, and a beam search keeps several: decode greedily or sample"
        )


class Speculator(Line):
    """Texts one after another, several tokens a step."""

    def __init__(self, job: Job, draft: Draft) -> None:
        super().__init__(job)
        check_search(job.search)
        if job.shortlist is not None:
            raise ValueError("a draft and a shortlist cannot be had together")
        words, known = int(job.model.head.out_features), draft.model.target.table.num_embeddings
        if any(token not in job.forbidden for token in range(known, words)):
            raise InputError(
                f"the draft knows {known:,} tokens and the model writes {words:,}; both need one vocabulary"
            )
        self._draft = draft
        self._steps = CompiledSteps(job.model, job.device), CompiledSteps(draft.model, job.device)
        self._choice = job.choice
        self._text: Text | None = None

    @property
    def _writing(self) -> bool:
        return self._text is not None

    def _step(self) -> list[Event]:
        """A token at least."""
        if self._text is None:
            self._text = self._begun(self._waiting.popleft())
        events = self._text.step()
        if isinstance(events[-1], Finished):
            self._text = None
        return events

    def _begun(self, active: Active) -> "Text":
        search, device = self.job.search, self.job.device
        assert isinstance(search, OneByOne)
        if active.request.source is not None:
            raise InputError("a draft is for language models; this one reads a source")
        check_tokens("prompt", active.request.prompt, self._draft.model.target.table.num_embeddings)
        search.start([active], device)
        guesser = Guesser(self._draft, self._steps[1], search, self._choice, device)
        return Text(self._steps[0], active, search, self._choice, guesser)


class Text:
    """One text while it is written."""

    def __init__(
        self, steps: CompiledSteps, active: Active, search: OneByOne, choice: Choice, guesser: Guesser
    ) -> None:
        self._steps, self._active, self._search, self._choice, self._guesser = steps, active, search, choice, guesser
        self._device = choice.is_stop.device
        self._prompt, self._written, self._log_prob, self._drafted = list(active.request.prompt), [], 0.0, Drafted()
        self._memory = self._begun()

    _written: list[int]

    def _begun(self) -> Memory:
        """All but the last token of the prompt, which is read with the first guess."""
        model, prefix = self._steps.model, self._active.prefix
        memory = model.start(rows=1) if prefix is None else prefix.memory(self._steps, 1, 1, self._device)
        rest = self._prompt[memory.length : -1]
        if rest:
            read(self._steps, torch.tensor([rest], device=self._device), memory)
        return memory

    def step(self) -> list[Event]:
        """A guess, and what the model makes of it."""
        text, written = [*self._prompt, *self._written], torch.tensor(self._written, dtype=torch.long)
        written = written.to(self._device)
        left = self._active.limit - len(self._written)
        guessed, given = self._guesser.guess(text, self._active, written, left - 1)
        mark = self._memory.mark(len(guessed) + 1)
        asked = torch.tensor([[text[-1], *guessed]], device=self._device)
        logits = all_logits(self._steps, asked, self._memory, self._choice.head)
        wanted = self._search.chances(beginnings(self._active, written, guessed), logits, self._choice)
        stood, token = judged(wanted, given, guessed, uniform(self._active, len(guessed) + 1, self._device))
        self._guesser.note(len(guessed), stood)
        again = self._memory.back(mark, stood + 1)
        if again:
            self._steps.model.step(asked[:, :again], self._memory)
        self._drafted += Drafted(len(guessed), stood, 1)
        return self._told([*guessed[:stood], token], logits)

    def _told(self, tokens: list[int], logits: Float[Tensor, "n V"]) -> list[Event]:
        """Events of some more tokens, up to an end."""
        columns = torch.tensor(tokens, device=self._device)
        log_probs = logits[: len(tokens)].log_softmax(-1).gather(1, columns[:, None]).squeeze(1)
        if bool(log_probs.isnan().any()):
            raise not_numbers()
        stopping = self._choice.is_stop[columns].tolist()
        events, place = list[Event](), self._active.place
        for token, log_prob, stops in zip(tokens, log_probs.tolist(), stopping, strict=True):
            self._log_prob += log_prob
            if stops:
                return [*events, self._finished(True)]
            self._written.append(token)
            events.append(Token(place, token, log_prob))
        halted = self._active.request.halted
        if len(self._written) >= self._active.limit or (halted is not None and halted()):
            events.append(self._finished(False))
        return events

    def _finished(self, ended: bool) -> Finished:
        score = self._log_prob / (len(self._written) + ended)
        found = Hypothesis(self._written, self._log_prob, score, ended, self._drafted)
        return Finished(self._active.place, [found])


def judged(
    wanted: Float[Tensor, "n V"], given: list[Tensor], guessed: list[int], drawn: Float[Tensor, "n"]
) -> tuple[int, int]:
    """How many of the guesses stand, and the token behind them; there is one number more to draw by than guesses."""
    stood = 0
    for place, (token, chances) in enumerate(zip(guessed, given, strict=True)):
        if not bool(drawn[place] * chances[token] < wanted[place, token]):
            break
        stood += 1
    left = wanted[stood]
    if stood < len(guessed):
        more = (left - given[stood]).clamp(min=0)
        left = more if bool(more.sum() > 0) else left  # what rounding has left of two that are the same
    return stood, int(fallen(left[None], drawn[-1:]))
