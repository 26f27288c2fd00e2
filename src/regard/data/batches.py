"""Batches of about equally long pairs. Which pairs a step sees is a function of (seed, step) alone."""

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from regard.data.corpus import Corpus, Rows
from regard.data.tokens import BEGIN, END, PAD


@dataclass(frozen=True)
class Batch:
    """Padded rows: the source, what the decoder is given, and what it should say next."""

    source: Int[Tensor, "B S"]
    source_lengths: Int[Tensor, "B"]
    given: Int[Tensor, "B T"]
    wanted: Int[Tensor, "B T"]
    lengths: Int[Tensor, "B"]

    @property
    def tokens(self) -> int:
        """The real tokens of both sides."""
        return int(self.source_lengths.sum() + self.lengths.sum())

    @property
    def targets(self) -> int:
        """How many predictions there are to be right or wrong about."""
        return int(self.lengths.sum())

    @property
    def positions(self) -> int:
        """Padding and all."""
        return self.source.numel() + self.given.numel()

    def to(self, device: torch.device) -> "Batch":
        return replace(self, **{name: tensor.to(device, non_blocking=True) for name, tensor in vars(self).items()})

    def part(self, number: int, of: int) -> "Batch":
        """Every `of`-th row, so that all parts are about equally long."""
        return replace(self, **{name: tensor[number::of] for name, tensor in vars(self).items()})


class Batches:
    """All batches of a corpus: about `tokens` positions on the larger side of each.

    Every epoch shuffles the pairs, sorts them by length, cuts, and shuffles the batches. The sorted
    lengths are the same in every epoch, so the cuts are too, and step s is found without the others.
    """

    def __init__(self, corpus: Corpus, tokens: int, seed: int) -> None:
        self.corpus, self.seed = corpus, seed
        self._sources, self._targets = corpus.source.lengths(), corpus.target.lengths()
        order = self._sorted(np.arange(len(corpus)))
        self._cuts = _cuts(1 + np.maximum(self._sources, self._targets)[order], tokens)
        self._epoch = lru_cache(2)(self._shuffled)

    def __len__(self) -> int:
        """Batches in an epoch."""
        return len(self._cuts) - 1

    def __getitem__(self, step: int) -> Batch:
        """The batch of a step, however far: epochs follow one another without end."""
        epoch, number = divmod(step, len(self))
        order, batches = self._epoch(epoch)
        at = batches[number]
        return collate(self.corpus, order[self._cuts[at] : self._cuts[at + 1]])

    def in_order(self) -> list[Batch]:
        """Every pair once, for validation."""
        order = self._sorted(np.arange(len(self.corpus)))
        return [collate(self.corpus, order[start:stop]) for start, stop in pairwise(self._cuts)]

    def _shuffled(self, epoch: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        generator = np.random.default_rng((self.seed, epoch))
        order = self._sorted(generator.permutation(len(self.corpus)))
        return order, generator.permutation(len(self))

    def _sorted(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """By the longer side, then by the difference: up and down in turn, so that neighbours are always alike."""
        sources, targets = self._sources[numbers], self._targets[numbers]
        longer, more = np.maximum(sources, targets), sources - targets
        return numbers[np.lexsort((np.where(longer % 2, more, -more), longer))]


def collate(corpus: Corpus, numbers: NDArray[np.int64]) -> Batch:
    """Rows of a corpus as one padded batch."""
    source, source_lengths = _padded(corpus.source, numbers, last=END)
    wanted, lengths = _padded(corpus.target, numbers, last=END)
    given, _ = _padded(corpus.target, numbers, first=BEGIN)
    return Batch(source, source_lengths, given, wanted, lengths)


def rows(texts: list[list[int]]) -> tuple[Int[Tensor, "B S"], Int[Tensor, "B"]]:
    """A few rows as a source: each ends with <end>."""
    ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    held = Rows(np.array([token for text in texts for token in text], np.int64), ends)
    return _padded(held, np.arange(len(texts)), last=END)


def _padded(
    held: Rows, numbers: NDArray[np.int64], first: int | None = None, last: int | None = None
) -> tuple[Tensor, Tensor]:
    """Chosen rows with one more token before or behind, padded to the longest."""
    starts, stops = held.ends[numbers], held.ends[numbers + 1]
    lengths = stops - starts
    width = int(lengths.max(initial=0)) + 1
    made = np.full((len(numbers), width), PAD, np.int64)
    places = np.arange(width)
    before = 0 if first is None else 1
    inside = (places >= before) & (places < before + lengths[:, None])
    flat = np.repeat(starts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) + np.arange(lengths.sum())
    made[inside] = np.asarray(held.ids)[flat] if len(flat) else 0
    if first is not None:
        made[:, 0] = first
    if last is not None:
        made[np.arange(len(numbers)), lengths] = last
    return torch.from_numpy(made), torch.from_numpy(lengths + 1)


def _cuts(sizes: NDArray[Any], tokens: int) -> list[int]:
    """Where to cut sorted rows so that rows × longest stays within `tokens`."""
    cuts, start, longest = [0], 0, 0
    for number, size in enumerate(sizes.tolist()):
        longest = max(longest, size)
        if number > start and (number + 1 - start) * longest > tokens:
            cuts.append(number)
            start, longest = number, size
    return [*cuts, len(sizes)] if len(sizes) else cuts
