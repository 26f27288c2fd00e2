"""How likely texts are: each token given those before it, texts of any lengths side by side."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log

import torch

from regard.model.mask import Mask
from regard.model.mode import evaluating
from regard.tasks.language.generator import TextGenerator, Written
from regard.tasks.language.loss import TOKENS, label_surprises


@dataclass(frozen=True)
class ScoredText:
    """A text and log P of each of its tokens; with the end, where that was asked for."""

    text: str
    tokens: list[Written]

    @property
    def log_prob(self) -> float:
        """log P of the whole text, in nats."""
        return sum((token.log_prob for token in self.tokens), 0.0)

    @property
    def per_token(self) -> float:
        """The mean over its tokens: what compares texts of different lengths."""
        return self.log_prob / max(1, len(self.tokens))

    @property
    def bits_per_byte(self) -> float:
        """What compares models with different vocabularies."""
        return -self.log_prob / log(2) / max(1, len(self.text.encode()))


@dataclass(frozen=True)
class _Part:
    """Some tokens of a text, from `start` on; those from `known` on are scored, given all before them."""

    text: int
    ids: list[int]
    start: int = 0
    known: int = 0


@dataclass(frozen=True)
class Scorer:
    """Scores texts with a trained model. Those longer than its context are read in windows that overlap by half."""

    generator: TextGenerator
    ended: bool = False

    def score(
        self, texts: Sequence[str], stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[tuple[int, ScoredText]]:
        """Every text with its number, as soon as it is scored; texts of like length are read together."""
        rows = [self._ids(text) for text in texts]
        parts = [part for number, ids in enumerate(rows) for part in self._parts(number, ids)]
        found: list[dict[int, float]] = [{} for _ in texts]
        waiting = [len(ids) - 1 for ids in rows]
        for number, count in enumerate(waiting):
            if not count:
                yield number, ScoredText(texts[number], [])
        for some in _batched(sorted(parts, key=lambda part: (len(part.ids), part.text))):
            if stopped():
                return
            for part, costs in zip(some, self._costs(some), strict=True):
                held = found[part.text]
                held |= {part.start + place: cost for place, cost in enumerate(costs) if place >= part.known}
                waiting[part.text] -= len(costs) - part.known
                if not waiting[part.text]:
                    yield (
                        part.text,
                        self._scored(texts[part.text], rows[part.text][1:], [held[n] for n in range(len(held))]),
                    )

    def _ids(self, text: str) -> list[int]:
        ids = [self.generator.facts.begin, *self.generator.tokenizer.encode([text])[0]]
        return [*ids, self.generator.facts.end] if self.ended else ids

    def _parts(self, number: int, ids: list[int]) -> Iterator[_Part]:
        room = self.generator.room
        if len(ids) <= room + 1:
            if len(ids) > 1:
                yield _Part(number, ids)
            return
        stride, known = max(1, room // 2), 0
        for start in range(0, len(ids) - 1, stride):
            window = ids[start : start + room + 1]
            yield _Part(number, window, start, known - start)
            known = start + len(window) - 1
            if start + room + 1 >= len(ids):
                return

    @torch.inference_mode()
    def _costs(self, parts: list[_Part]) -> list[list[float]]:
        """−log p of the tokens of some parts, none of which sees the filling of another."""
        model = self.generator.model
        device = next(model.parameters()).device
        lengths = torch.tensor([len(part.ids) - 1 for part in parts])
        width = int(lengths.max())
        filled = torch.tensor([[*part.ids, *[0] * (width + 1 - len(part.ids))] for part in parts], device=device)
        mask = Mask(key_lengths=None if int(lengths.min()) == width else lengths.to(device))
        with evaluating(model):
            states = model.states(filled[:, :-1], mask)
            costs = label_surprises(model, states, filled[:, 1:]).tolist()
        return [row[: len(part.ids) - 1] for row, part in zip(costs, parts, strict=True)]

    def _scored(self, text: str, ids: list[int], costs: list[float]) -> ScoredText:
        stream = self.generator.tokenizer.stream()
        written = [Written(stream.add(token), token, -cost) for token, cost in zip(ids, costs, strict=True)]
        return ScoredText(text, written)


def _batched(parts: list[_Part]) -> Iterator[list[_Part]]:
    """As many as fit into a batch, filled up to the longest: the last of a sorted list."""
    batch: list[_Part] = []
    for part in parts:
        if batch and (len(batch) + 1) * len(part.ids) > TOKENS:
            yield batch
            batch = []
        batch.append(part)
    if batch:
        yield batch
