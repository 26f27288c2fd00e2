"""One row, one hypothesis: the likeliest word at every step, or one drawn by chance."""

from abc import ABC, abstractmethod
from math import isnan
from typing import Annotated

import torch
from annotated_doc import Doc
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from regard.decoding.checks import finite, whole, within
from regard.decoding.choice import Choice, forbid
from regard.decoding.compiled.leap import Beams, Ended, Leap
from regard.decoding.options import HEAVIEST, LIGHTEST, MinLength, NoRepeat, Penalty
from regard.decoding.request import Event, Finished, Hypothesis, Token
from regard.decoding.search import Active, NextTokens, Running, Search, not_numbers
from regard.decoding.top import best, log_chances
from regard.recipe import Number, Positive, Share

SEEDS = 1_000_003  # numbers of texts between those of two seeds
LEAST, MOST = 1e-30, 1e30  # beyond, numbers are zero or infinite in single precision, and nothing would have a chance


class OneByOne(Search, ABC):
    """Rows write one word at a time; a row that has ended leaves."""

    def __init__(self, min_length: int, no_repeat_ngram_size: int, repetition_penalty: float) -> None:
        super().__init__(min_length, no_repeat_ngram_size)
        self.repetition_penalty = within("repetition_penalty", repetition_penalty, HEAVIEST, LIGHTEST)

    @abstractmethod
    def pick(self, logits: Float[Tensor, "R V"], active: list[Active]) -> Int[Tensor, "R"]:
        """The next column of every row."""

    @abstractmethod
    def spread(self, logits: Float[Tensor, "R V"]) -> Float[Tensor, "R V"]:
        """The chance that `pick` takes each column; every row sums to one."""

    def chances(self, running: Running, logits: Float[Tensor, "R V"], choice: Choice) -> Float[Tensor, "R V"]:
        """The chance of every next token: what a step draws by. What is forbidden is taken away in place."""
        forbid(logits, running.written, running.early(self.min_length), choice, self.no_repeat_ngram_size)
        return self.spread(penalised(logits, running, choice, self.repetition_penalty))

    def picked(
        self, running: Running, logits: Float[Tensor, "R V"], choice: Choice
    ) -> tuple[Float[Tensor, "R"], Int[Tensor, "R"]]:
        """The next column of every row, behind log P of it before any penalty."""
        columns = self.pick(penalised(logits, running, choice, self.repetition_penalty), running.active)
        return log_chances(logits, columns), columns

    def choose(self, running: Running, logits: Float[Tensor, "R V"], choice: Choice) -> NextTokens:
        log_probs, columns = self.picked(running, logits, choice)
        tokens = choice.tokens(columns)
        running.scores = running.scores + log_probs
        running.written = torch.cat([running.written, tokens[:, None]], 1)
        running.age += 1
        stopping = choice.is_stop[tokens]
        over = stopping | (running.age >= running.limit)
        halted = [each.request.halted is not None and each.request.halted() for each in running.active]
        over = over | torch.tensor(halted, device=over.device) if any(halted) else over
        events = _told(running.active, tokens.tolist(), log_probs.tolist(), stopping.tolist())
        if not over.any():
            return NextTokens(tokens[:, None], None, events)
        for row in over.nonzero().flatten().tolist():
            events.append(_finished(running, row, bool(stopping[row])))
        kept = (~over).nonzero().flatten()
        running.scores, running.written = running.scores[kept], running.written[kept]
        running.keep(kept)
        return NextTokens(tokens[kept, None], kept, events)


def penalised(logits: Float[Tensor, "R V"], running: Running, choice: Choice, penalty: float) -> Float[Tensor, "R V"]:
    """Scores above zero are divided by the penalty and those below multiplied, for all that was read or written
    [Keskar et al. 2019]."""
    if penalty == 1.0:
        return logits
    logits = logits.clone()
    for row, each in enumerate(running.active):
        used = running.written[row][running.written[row] >= 0]
        read = torch.tensor(list(each.request.prompt), dtype=torch.long, device=logits.device)
        columns, _ = choice.columns(torch.cat([read, used]).unique())
        scores = logits[row, columns]
        logits[row, columns] = torch.where(scores > 0, scores / penalty, scores * penalty)
    return logits


def _told(active: list[Active], tokens: list[int], log_probs: list[float], stopping: list[bool]) -> list[Event]:
    """What every row has written just now."""
    if any(map(isnan, log_probs)):
        raise not_numbers()
    rows = zip(active, tokens, log_probs, stopping, strict=True)
    return [Token(each.place, token, log_prob) for each, token, log_prob, stops in rows if not stops]


def _tokens(place: int, tokens: list[int], log_probs: list[float]) -> list[Token]:
    return [Token(place, token, log_prob) for token, log_prob in zip(tokens, log_probs, strict=True)]


def _last(place: int, before: list[int], ended: Ended) -> list[Event]:
    """The last tokens of a request, and all of it. What stops it is not among them."""
    written = len(ended.tokens) - ended.stops
    tokens, steps = ended.tokens[:written], len(before) + ended.step + 1
    hypothesis = Hypothesis([*before, *tokens], ended.log_prob, ended.log_prob / steps, ended.stops)
    return [*_tokens(place, tokens, ended.chances[:written]), Finished(place, [hypothesis])]


def _finished(running: Running, row: int, stopped: bool) -> Finished:
    steps, log_prob = int(running.age[row]), float(running.scores[row])
    line = running.written[row, running.written.shape[1] - steps :].tolist()
    tokens = line[:-1] if stopped else line
    return Finished(running.active[row].place, [Hypothesis(tokens, log_prob, log_prob / steps, stopped)])


def fallen(probs: Float[Tensor, "R V"], drawn: Float[Tensor, "R"]) -> Int[Tensor, "R"]:
    """The columns on which numbers between 0 and 1 fall, each as wide as its chance; chances need not sum to one."""
    summed = probs.cumsum(-1)
    place = torch.searchsorted(summed, (drawn[:, None] * summed[:, -1:]).contiguous(), right=True).squeeze(1)
    last = probs.shape[1] - 1 - (probs.flip(-1) > 0).to(torch.uint8).argmax(-1)
    return place.minimum(last)  # rounding must not choose what has no chance


class Greedy(OneByOne):
    """The likeliest word at every step."""

    def __init__(
        self, *, repetition_penalty: Penalty = 1.0, min_length: MinLength = 0, no_repeat_ngram_size: NoRepeat = 0
    ) -> None:
        super().__init__(min_length, no_repeat_ngram_size, repetition_penalty)

    def pick(self, logits: Float[Tensor, "R V"], active: list[Active]) -> Int[Tensor, "R"]:
        return logits.argmax(-1)

    def picked(
        self, running: Running, logits: Float[Tensor, "R V"], choice: Choice
    ) -> tuple[Float[Tensor, "R"], Int[Tensor, "R"]]:
        return best(logits) if self.repetition_penalty == 1.0 else super().picked(running, logits, choice)

    def beams(self, running: Running, choice: Choice) -> Beams | None:
        halting = any(each.request.halted is not None for each in running.active)
        if self.repetition_penalty != 1.0 or self.no_repeat_ngram_size or halting:
            return None
        noted = [0] * len(running)
        return Beams(choice, 1, self.min_length, running.age, running.limit, noted, running.scores)

    def leapt(self, running: Running, leap: Leap) -> NextTokens:
        rows, tokens, log_probs = leap.written()
        events, ended = list[Event](), list(leap.ended())
        for row, *told in zip(rows.tolist(), tokens.tolist(), log_probs.tolist(), strict=True):
            events += _tokens(running.active[row].place, *told)
        if len(ended) < len(leap.done):
            raise not_numbers()
        ages, lines = running.age.tolist(), running.written.tolist() if ended else []
        for each in ended:
            age, line = ages[each.sentence], lines[each.before]
            events += _last(running.active[each.sentence].place, line[len(line) - age :], each)
        if len(ended) == len(running):
            return running.over(events)
        running.age += leap.taken
        running.written, running.scores = torch.cat([running.written[rows], tokens], 1), leap.scores
        if ended:
            running.keep(rows)
        return NextTokens(tokens[:, -1:], rows if ended else None, events)

    def spread(self, logits: Float[Tensor, "R V"]) -> Float[Tensor, "R V"]:
        return torch.zeros_like(logits).scatter_(1, logits.argmax(-1, keepdim=True), 1.0)


class Sample(OneByOne):
    """A word drawn by its chance: sharper below `temperature` 1, among the `top_k`, the `top_p` share, or those that
    have `min_p` of the likeliest one's chance.

    p ∝ exp(logit / temperature). A request draws from a source of its own, so that it writes the same in any batch.
    """

    def __init__(
        self,
        *,
        temperature: Annotated[
            Positive, Doc("Scores are divided by it: below 1 likely tokens win more often, above 1 rare ones do.")
        ] = 1.0,
        top_k: Annotated[Number, Doc("Only so many likeliest tokens can be drawn; 0 means all of them.")] = 0,
        top_p: Annotated[
            float,
            Field(gt=0, le=1),
            Doc("Only the likeliest tokens that together have this chance can be drawn; 1 means all."),
        ] = 1.0,
        min_p: Annotated[
            Share, Doc("Only tokens with this share of the likeliest one's chance can be drawn; 0 means all.")
        ] = 0.0,
        repetition_penalty: Penalty = 1.0,
        seed: Annotated[Number, Doc("Number from which all chance is drawn: the same seed writes the same texts.")] = 1,
        min_length: MinLength = 0,
        no_repeat_ngram_size: NoRepeat = 0,
    ) -> None:
        super().__init__(min_length, no_repeat_ngram_size, repetition_penalty)
        self.min_p = within("min_p", min_p, 1.0)
        self.temperature, self.top_p = finite("temperature", temperature, 0.0), finite("top_p", top_p, 0.0, 1.0)
        self.top_k, self.seed = whole("top_k", top_k, 0), whole("seed", seed, 0)

    def start(self, active: list[Active], device: torch.device) -> Running:
        for each in active:
            seed = (self.seed * SEEDS + each.request.number) % 2**32  # torch looks at 32 bits
            each.random = torch.Generator().manual_seed(seed)
        return super().start(active, device)

    def pick(self, logits: Float[Tensor, "R V"], active: list[Active]) -> Int[Tensor, "R"]:
        drawn = torch.stack([torch.rand((), generator=each.random) for each in active]).to(logits.device)
        return self.draw(logits, drawn)

    def draw(self, logits: Float[Tensor, "R V"], drawn: Float[Tensor, "R"]) -> Int[Tensor, "R"]:
        """The columns on which numbers between 0 and 1 fall."""
        return fallen(self.narrow(logits), drawn)

    def spread(self, logits: Float[Tensor, "R V"]) -> Float[Tensor, "R V"]:
        probs = self.narrow(logits)
        return probs / probs.sum(-1, keepdim=True)

    def narrow(self, logits: Float[Tensor, "R V"]) -> Float[Tensor, "R V"]:
        """Chances after temperature, top-k, top-p and min-p."""
        logits = logits.float()  # half precision cannot sum so many small chances
        below = logits - logits.amax(-1, keepdim=True)  # so that no temperature is too low
        probs = (below / min(max(self.temperature, LEAST), MOST)).softmax(-1)
        if self.top_k and self.top_k < probs.shape[1]:
            least = probs.topk(self.top_k).values[:, -1:]
            probs = probs.masked_fill(probs < least, 0.0)
        if self.top_p < 1:
            ranked, places = probs.sort(descending=True)
            before = ranked.cumsum(-1) - ranked
            limit = max(self.top_p, LEAST) * probs.sum(-1, keepdim=True)
            probs = probs.masked_fill((before >= limit).gather(1, places.argsort(1)), 0.0)
        if self.min_p:
            probs = probs.masked_fill(probs < self.min_p * probs.amax(-1, keepdim=True), 0.0)
        return probs
