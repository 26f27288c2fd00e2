"""Beam search."""

from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_doc import Doc
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decoding.checks import MOST_HYPOTHESES, whole, within
from regard.decoding.choice import Choice
from regard.decoding.compiled.leap import Beams, Leap
from regard.decoding.options import MinLength, NoRepeat
from regard.decoding.request import Event, Finished, Hypothesis
from regard.decoding.search import Active, NextTokens, Running, Search, not_numbers
from regard.decoding.top import likeliest
from regard.recipe import Count

MOST_PENALTY = 100.0


class Beam(Search):
    """Keeps the `beam_size` likeliest beginnings, and ends when as many have ended.

    score = log P(y | x) / |y|^length_penalty [Wu et al. 2016 have a like rule]. All hypotheses of all
    requests take each step together; what was read of a source is held once for all of them, and a
    request that is done leaves.
    """

    in_title = ("beam_size", "n_best")

    def __init__(
        self,
        *,
        beam_size: Annotated[
            Count, Doc("Hypotheses kept side by side; more find likelier texts and cost as much more; 1 is greedy.")
        ] = 5,
        length_penalty: Annotated[
            float, Doc("Power of the length that scores are divided by: 0 favours short texts, above 1 long ones.")
        ] = 1.0,
        n_best: Annotated[Count, Doc("Hypotheses handed out for each source, the best first; at most beam_size.")] = 1,
        min_length: MinLength = 0,
        no_repeat_ngram_size: NoRepeat = 0,
    ) -> None:
        whole("beam_size", beam_size, 1, MOST_HYPOTHESES)
        if whole("n_best", n_best, 1) > beam_size:
            raise ValueError(f"n_best: a beam of {beam_size} has no {n_best} best; choose n_best up to beam_size")
        super().__init__(min_length, no_repeat_ngram_size)
        self.hypotheses = self.beam_size = beam_size
        self.length_penalty, self.n_best = within("length_penalty", length_penalty, MOST_PENALTY), n_best

    @property
    def title(self) -> str:
        return f"beam of {self.beam_size}" + (f", {self.n_best} best" if self.n_best > 1 else "")

    def start(self, active: list[Active], device: torch.device) -> Running:
        running = super().start(active, device)
        running.scores.view(-1, self.beam_size)[:, 1:] = -torch.inf  # all beams begin alike: only one of them counts
        return running

    def choose(self, running: Running, logits: Float[Tensor, "R V"], choice: Choice) -> NextTokens:
        found = self._best(running, logits, choice)
        running.age += 1
        going, events = self._note(found, running)
        stays = len(going) == len(running)
        back, running.scores, tokens = found.going_on(going, self.beam_size)
        if not stays:
            running.keep(going)
        running.written = torch.cat([running.written[back], tokens], 1)
        return NextTokens(tokens, None if stays and self.beam_size == 1 else back, events)

    def _best(self, running: Running, logits: Float[Tensor, "R V"], choice: Choice) -> "Candidates":
        """The best continuations of every request: enough, should all that can end here do so.

        A beam needs only its own K best and one for every token that ends a text: no more than K can go on.
        """
        size, ends = self.beam_size, len(choice.stops)
        count = min(size + ends, logits.shape[1])
        best, columns = likeliest(logits, count)
        scores = best.nan_to_num(-torch.inf, neginf=-torch.inf) + running.scores[:, None]  # nan: all are forbidden
        totals, places = scores.view(len(running), -1).topk(min(size * (1 + ends), size * count))
        tokens = choice.tokens(columns.view(len(running), -1).gather(1, places))
        return Candidates(totals, places // count, tokens, choice.is_stop[tokens])

    def beams(self, running: Running, choice: Choice) -> Beams | None:
        if self.no_repeat_ngram_size:
            return None
        noted = [len(each.ended) for each in running.active]
        return Beams(choice, self.beam_size, self.min_length, running.age, running.limit, noted, running.scores)

    def leapt(self, running: Running, leap: Leap) -> NextTokens:
        ages, lines = running.age.tolist(), running.written.tolist()
        for sentence, step, stops, log_prob, before, tokens, _ in leap.ended():
            line = [*lines[before], *(tokens[:-1] if stops else tokens)]
            self._end(running.active[sentence], line, ages[sentence] + step + 1, stops, log_prob)
        events = [self._finished(running.active[row]) for row in leap.done]
        if len(events) == len(running):
            return running.over(events)
        running.age += leap.taken
        going = torch.tensor(leap.going, dtype=torch.long)
        rows, written, _ = leap.written()
        running.written, running.scores = torch.cat([running.written[rows], written], 1), leap.scores
        if events:
            running.keep(going)
        back = (going[:, None] * self.beam_size + torch.arange(self.beam_size)).flatten()
        return NextTokens(written[:, -1:], back if events else None, events)

    def _note(self, found: "Candidates", running: Running) -> tuple[Int[Tensor, "b"], list[Event]]:
        """Note the hypotheses that end among the K best, or must; say which requests go on."""
        size = self.beam_size
        alive = found.scores[:, :size].isfinite()
        over = running.age >= running.limit
        last = (found.stopping[:, :size] | over[:, None]) & alive
        rows, places = last.nonzero(as_tuple=True)
        if len(rows):
            lines = running.written[rows * size + found.parents[rows, places]].tolist()
            noted = zip(
                rows.tolist(),
                lines,
                found.tokens[rows, places].tolist(),
                found.stopping[rows, places].tolist(),
                found.scores[rows, places].tolist(),
                running.age[rows].tolist(),
                strict=True,
            )
            for row, line, token, stops, log_prob, age in noted:
                self._end(running.active[row], line if stops else [*line, token], age, stops, log_prob)
        return self._parted(running, (over | ~alive[:, 0]).tolist())

    def _end(self, writing: Active, line: list[int], age: int, stops: bool, log_prob: float) -> None:
        """Note a hypothesis of so many tokens, of which the one that stops it is not in its line."""
        written = line[len(line) - age + stops :]
        writing.ended.append(Hypothesis(written, log_prob, log_prob / age**self.length_penalty, stops))

    def _parted(self, running: Running, over: list[bool]) -> tuple[Int[Tensor, "b"], list[Event]]:
        """Which requests go on, and the answers to the others: those that must end, or of which enough has ended."""
        going: list[int] = []
        events: list[Event] = []
        for row, (each, ends) in enumerate(zip(running.active, over, strict=True)):
            if ends or len(each.ended) >= self.beam_size:
                events.append(self._finished(each))
            else:
                going.append(row)
        return torch.tensor(going, dtype=torch.long, device=running.age.device), events

    def _finished(self, writing: Active) -> Event:
        if not writing.ended:
            raise not_numbers()
        ranked = sorted(writing.ended, key=lambda hypothesis: -hypothesis.score)
        return Finished(writing.place, ranked[: self.n_best])


@dataclass(frozen=True)
class Candidates:
    """What may come next in every request, the best first: after which beam, which token, and whether it ends."""

    scores: Float[Tensor, "B C"]
    parents: Int[Tensor, "B C"]
    tokens: Int[Tensor, "B C"]
    stopping: Bool[Tensor, "B C"]

    def going_on(self, rows: Int[Tensor, "b"], size: int) -> tuple[Tensor, Tensor, Tensor]:
        """Of these requests the K best that have not ended: which row each goes on from, its score and token."""
        ending = self.stopping[rows].to(torch.uint8)
        chosen = ending.sort(dim=1, stable=True).indices[:, :size]
        parents, tokens = self.parents[rows].gather(1, chosen), self.tokens[rows].gather(1, chosen)
        back = (rows[:, None] * size + parents).flatten()
        return back, self.scores[rows].gather(1, chosen).flatten(), tokens.flatten()[:, None]
