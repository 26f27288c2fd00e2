"""Batches of sentence pairs."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from regard.datasets.batches import Buckets
from regard.datasets.encode import Encoded
from regard.datasets.rows import Numbers, padded
from regard.tasks.translation.tokenizers import SpecialIds


@dataclass(frozen=True)
class PairBatch:
    """Padded rows: the source, what the decoder is given, and the label of each position, the token that comes next."""

    source: Int[Tensor, "B S"]
    source_lengths: Int[Tensor, "B"]
    inputs: Int[Tensor, "B T"]
    labels: Int[Tensor, "B T"]
    lengths: Int[Tensor, "B"]

    @property
    def size(self) -> int:
        """The real tokens of both sides."""
        return int(self.source_lengths.sum() + self.lengths.sum())

    @property
    def predictions(self) -> int:
        """One for every label that is no padding."""
        return int(self.lengths.sum())

    def to(self, device: torch.device) -> "PairBatch":
        return replace(self, **{name: tensor.to(device, non_blocking=True) for name, tensor in vars(self).items()})

    def part(self, number: int, of: int) -> "PairBatch":
        """Every `of`-th row, so that all parts are about equally long."""
        return replace(self, **{name: tensor[number::of] for name, tensor in vars(self).items()})


class PairBatches:
    """All batches of a corpus: about `tokens` positions on the larger side of each."""

    def __init__(self, corpus: Encoded, ids: SpecialIds, tokens: int, seed: int) -> None:
        self.corpus, self.ids = corpus, ids
        self._buckets = Buckets(np.stack([side.lengths for side in corpus.sides], 1), tokens, seed)

    def __len__(self) -> int:
        """Batches in an epoch."""
        return len(self._buckets)

    def __getitem__(self, step: int) -> PairBatch:
        return self.collate(self._buckets.rows(step))

    def in_order(self) -> list[PairBatch]:
        """Every pair once, for validation."""
        return [self.collate(rows) for rows in self._buckets.in_order()]

    def collate(self, rows: Numbers) -> PairBatch:
        """Rows of the corpus as one padded batch."""
        ids = self.ids
        source, target = (side.chosen(rows) for side in self.corpus.sides)
        read, source_lengths = padded(source, ids.source_pad, last=ids.source_eos)
        labels, lengths = padded(target, ids.pad, last=ids.eos)
        inputs, _ = padded(target, ids.pad, first=ids.bos)
        return PairBatch(read, source_lengths, inputs, labels, lengths)
