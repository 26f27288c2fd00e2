"""From a sentence to its translation: any number, any length; order and empty lines are kept."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.data.batches import rows
from regard.data.corpus import Vocabulary
from regard.data.shortlist import candidates
from regard.data.tokens import BEGIN, END
from regard.decoding.search import Hypothesis, Search, Writing
from regard.model.assembly import Seq2Seq
from regard.model.int8 import narrowed
from regard.model.memory import Memory
from regard.tasks.threads import at_once

BATCH = 320  # rows that take a step at once: sentences times hypotheses
LEAST = 8  # sentences: fewer are not shared out among threads
SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+|(?<=[。！？])")


@dataclass(frozen=True)
class Translated:
    """One text and its translations, the best first."""

    source: str
    texts: list[str]
    scores: list[float]

    @property
    def text(self) -> str:
        return self.texts[0]


class StoppedError(Exception):
    """Somebody wanted this to end before its time."""


def never() -> bool:
    return False


@dataclass(frozen=True)
class Scribe:
    """A model that writes for rows of ids: like lengths together, and back into their order."""

    model: Seq2Seq
    batch: int = BATCH
    limit: tuple[int, int] = (2, 10)
    """A translation may have so many times the tokens of its source, and so many more."""
    words: NDArray[np.int32] | None = None
    """A shortlist: which words each source word may call for. Without it all words are scored at every step."""
    stopped: Callable[[], bool] = never
    """Asked before every step; a yes ends it all with `StoppedError`."""

    def write(self, sources: list[list[int]], search: Search) -> list[list[Hypothesis]]:
        order = sorted(range(len(sources)), key=lambda row: -len(sources[row]))
        on_cpu = next(self.model.parameters()).device.type == "cpu"
        size = share(len(order), together(self.batch, search), torch.get_num_threads() if on_cpu else 1)
        pieces = [order[start : start + size] for start in range(0, len(order), size)]

        def write(piece: list[int]) -> list[list[Hypothesis]]:
            return self._batch([sources[row] for row in piece], piece, search)

        written = at_once(write, pieces) if on_cpu else [write(piece) for piece in pieces]
        found: list[list[Hypothesis]] = [[] for _ in sources]
        for piece, hypotheses in zip(pieces, written, strict=True):
            for row, some in zip(piece, hypotheses, strict=True):
                found[row] = some
        return found

    @torch.inference_mode()
    def _batch(self, sources: list[list[int]], numbers: list[int], search: Search) -> list[list[Hypothesis]]:
        model = self.model
        head: nn.Module = model.head
        device = next(model.parameters()).device
        source, lengths = (tensor.to(device) for tensor in rows(sources))
        times, more = self.limit
        words = None
        if self.words is not None:
            words = torch.from_numpy(candidates(self.words, sources)).to(device)
            head = narrowed(head, words)

        def step(tokens: Int[Tensor, "R T"], memory: Memory) -> Float[Tensor, "R V"]:
            if self.stopped():
                raise StoppedError
            logits: Tensor = head(model.step(tokens, memory)[:, -1])
            return logits

        first = torch.full((len(sources), 1), BEGIN, device=device)
        limits = times * lengths + more
        return search.write(Writing(step, model.start(source, lengths), first, limits, END, words, numbers))


def together(rows: int, search: Search) -> int:
    """So many sentences make a batch of so many rows."""
    return max(1, rows // search.rows)


def share(sentences: int, most: int, threads: int) -> int:
    """The size of batches, so that all threads have as much to do as each other, if they have enough."""
    rounds = -(-sentences // (most * threads))
    return min(most, max(LEAST, -(-sentences // max(1, rounds * threads))))


@dataclass(frozen=True)
class Translator:
    """A trained model with its vocabulary, ready to translate. Sources longer than `longest` tokens are split."""

    model: Seq2Seq
    vocabulary: Vocabulary
    longest: int
    batch: int = BATCH
    words: NDArray[np.int32] | None = None
    stopped: Callable[[], bool] = never

    def portion(self, search: Search) -> int:
        """So many texts keep all threads busy, and come back soon."""
        return together(self.batch, search) * torch.get_num_threads()

    def translate(self, texts: Sequence[str], search: Search) -> list[Translated]:
        """All texts, in their order."""
        pieces = [self._split(text) for text in texts]
        scribe = Scribe(self.model, self.batch, words=self.words, stopped=self.stopped)
        found = iter(scribe.write([ids for piece in pieces for ids in piece], search))
        return [self._joined(text, [next(found) for _ in piece]) for text, piece in zip(texts, pieces, strict=True)]

    def _split(self, text: str) -> list[list[int]]:
        """One row of ids if that fits, else one a sentence, and a long sentence cut between words."""
        if not text.strip():
            return []
        whole = self.vocabulary.source.encode([text])[0]
        if len(whole) <= self.longest:
            return [whole]
        sentences = [sentence for sentence in SENTENCE.split(text) if sentence.strip()]
        encoded = zip(sentences, self.vocabulary.source.encode(sentences), strict=True)
        return [row for text, ids in encoded for row in ([ids] if len(ids) <= self.longest else self._cut(text))]

    def _cut(self, sentence: str) -> Iterator[list[int]]:
        """As many words as fit, again and again; only a word that is too long by itself is cut inside."""
        row: list[int] = []
        for word in self.vocabulary.source.encode(sentence.split()):
            if row and len(row) + len(word) > self.longest:
                yield row
                row = []
            row = row + word
            while len(row) > self.longest:
                yield row[: self.longest]
                row = row[self.longest :]
        if row:
            yield row

    def _joined(self, text: str, found: list[list[Hypothesis]]) -> Translated:
        """The parts of a split text in a row: their best, their second best, …"""
        if not found:
            return Translated(text, [""], [0.0])
        count = min(map(len, found))
        texts = [" ".join(self.vocabulary.target.decode([part[n].tokens for part in found])) for n in range(count)]
        scores = [sum(part[n].score for part in found) / len(found) for n in range(count)]
        return Translated(text, texts, scores)
