"""How likely texts are: each token given those before it, texts of any lengths side by side."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decoding.prefixes import shared
from regard.decoding.reading import BLOCK
from regard.markup import Answer
from regard.model.assembly import LanguageModel
from regard.model.mask import Mask
from regard.model.memory import Memory
from regard.model.mode import evaluating
from regard.tasks.language.generator import TextGenerator
from regard.tasks.language.loss import TOKENS, check_numbers, label_surprises
from regard.tasks.language.writing import Written


@dataclass(frozen=True)
class ScoredText(Answer):
    """A text and log P of each of its tokens; with the end, where that was asked for."""

    heads = ("text", " tokens", " log P", " per token", " bits per byte")

    text: str
    tokens: list[Written]
    ended: bool = False

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
        """What compares models with different vocabularies. An end counts as a byte, as it does in an evaluation."""
        size = len(self.text.encode()) + self.ended
        return (0.0 - self.log_prob) / log(2) / max(1, size)  # no text: 0, and not -0

    def rows(self) -> list[tuple[str, ...]]:
        """One row."""
        figures = (f"{self.log_prob:.2f}", f"{self.per_token:.3f}", f"{self.bits_per_byte:.3f}")
        return [(self.text, f"{len(self.tokens):,}", *figures)]


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
        for some, beginning in self._batches(parts):
            if stopped():
                return
            for part, costs in zip(some, self._costs(some, beginning), strict=True):
                held = found[part.text]
                held |= {part.start + place: cost for place, cost in enumerate(costs) if place >= part.known}
                waiting[part.text] -= len(costs) - part.known
                if not waiting[part.text]:
                    yield (
                        part.text,
                        self._scored(texts[part.text], rows[part.text][1:], [held[n] for n in range(len(held))]),
                    )

    def check(self, texts: Sequence[str], first: int = 1, several: bool = True) -> None:
        """Refuse what a prompt must not have either; `first` is the number of the first of several texts."""
        for number, text in enumerate(texts if self.generator.facts.unseen else (), first):
            self.generator.check_seen(text, self._ids(text), "text", number if several else None)

    def _ids(self, text: str) -> list[int]:
        ids = [self.generator.facts.begin, *self.generator.tokenizer.encode([text])[0]]
        return [*ids, self.generator.facts.end] if self.ended else ids

    def _parts(self, number: int, ids: list[int]) -> Iterator[_Part]:
        room = self.generator.window
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

    def _batches(self, parts: list[_Part]) -> "Iterator[tuple[list[_Part], _Beginning | None]]":
        """Parts of like length together; those that begin alike apart from the others, with what they begin with."""
        alone = set(range(len(parts)))
        for prefix, places in shared([tuple(part.ids) for part in parts]):
            alone -= set(places)
            beginning = _Beginning(list(prefix.tokens))
            for some in _batched([parts[place] for place in places]):
                yield some, beginning
        for some in _batched([parts[place] for place in alone]):
            yield some, None

    @torch.inference_mode()
    def _costs(self, parts: list[_Part], beginning: "_Beginning | None") -> list[list[float]]:
        """−log p of the tokens of some parts, none of which sees the filling of another."""
        model = self.generator.model
        device = next(model.parameters()).device
        known = 0 if beginning is None else len(beginning.ids) - 1
        rows = [part.ids[known:] for part in parts]
        lengths = torch.tensor([len(ids) - 1 for ids in rows])
        width = int(lengths.max())
        filled = torch.tensor([[*ids, *[0] * (width + 1 - len(ids))] for ids in rows], device=device)
        with evaluating(model):
            if beginning is None:
                mask = Mask(key_lengths=None if int(lengths.min()) == width else lengths.to(device))
                costs = label_surprises(model, model.states(filled[:, :-1], mask), filled[:, 1:]).tolist()
                before = list[float]()
            else:
                before, memory = beginning.read(model, len(rows), device)
                costs = _surprises(model, filled, memory).tolist()
        found = [before + row[: len(ids) - 1] for row, ids in zip(costs, rows, strict=True)]
        check_numbers(torch.tensor([cost for row in found for cost in row]))
        return found

    def _scored(self, text: str, ids: list[int], costs: list[float]) -> ScoredText:
        stream = self.generator.tokenizer.stream()
        written = [Written(stream.add(token), token, -cost) for token, cost in zip(ids, costs, strict=True)]
        return ScoredText(text, written, self.ended)


class _Beginning:
    """What several parts begin with: read once, and gone on from by each."""

    def __init__(self, ids: list[int]) -> None:
        self.ids = ids
        self._found: tuple[list[float], Memory] | None = None

    def read(self, model: LanguageModel, rows: int, device: torch.device) -> tuple[list[float], Memory]:
        """−log p of its tokens but the first, and what is remembered of all but the last, as so many rows."""
        if self._found is None:
            memory = model.start(rows=1)
            costs = _surprises(model, torch.tensor([self.ids], device=device), memory)[0].tolist()
            self._found = costs, memory
        costs, memory = self._found
        return costs, memory.again(torch.zeros(rows, dtype=torch.long, device=device))


def _surprises(model: LanguageModel, tokens: Int[Tensor, "B T"], memory: Memory) -> Float[Tensor, "B t"]:
    """−log p of every token but the first, behind what is remembered; no block of them is large."""
    pairs = zip(tokens[:, :-1].split(BLOCK, 1), tokens[:, 1:].split(BLOCK, 1), strict=True)
    return torch.cat([label_surprises(model, model.step(given, memory), labels) for given, labels in pairs], 1)


def _batched(parts: list[_Part]) -> Iterator[list[_Part]]:
    """As many as fit into a batch, filled up to the longest: the last of a sorted list."""
    batch: list[_Part] = []
    for part in sorted(parts, key=lambda part: (len(part.ids), part.text)):
        if batch and (len(batch) + 1) * len(part.ids) > TOKENS:
            yield batch
            batch = []
        batch.append(part)
    if batch:
        yield batch
