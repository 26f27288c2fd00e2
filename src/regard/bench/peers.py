"""What the peers of translation share: sentence pairs as ids, batches of them, and the loop of training steps.

Each peer has a file of its own. Its `prepare_…` functions give a callable that does one turn of work
and returns how many tokens that was, so that equal work can be checked and rates compared.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from regard.allocator import keep_memory
from regard.bench.workers import Prepare

Ids = list[int]


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs as ids of one joint vocabulary, without begin and end."""

    pairs: Sequence[tuple[Ids, Ids]]
    vocabulary: int
    pad: int
    begin: int
    end: int

    @property
    def longest(self) -> int:
        """In ids of either side, with its end."""
        return max(map(_length, self.pairs))


@dataclass(frozen=True)
class Shape:
    """A Transformer with tied embeddings and sinusoidal positions; `layers` on each side."""

    layers: int = 3
    heads: int = 4
    width: int = 256
    hidden: int = 1024


@dataclass(frozen=True)
class Training:
    """One turn: so many steps, each on rows × max(source, target) tokens at most."""

    steps: int = 10
    tokens: int = 4096
    seed: int = 1


@dataclass(frozen=True)
class Decoding:
    """One turn: all sources, so many rows at once; a beam of 1 is greedy.

    With `least` = `most` every answer has that many tokens, whatever the weights.
    """

    beam: int = 5
    least: int = 20
    most: int = 20
    rows: int = 64


@dataclass(frozen=True)
class Batch:
    """Sources [B S] with their end; targets [B T+1] from begin to end; `tokens` are those that are not padding."""

    source: Tensor
    target: Tensor
    tokens: int


def bucketed(corpus: Corpus, training: Training) -> list[Batch]:
    """As many batches as a turn has steps: pairs of one length together, the batches in random order."""
    groups, group = [], list[tuple[Ids, Ids]]()
    for pair in sorted(corpus.pairs, key=lambda pair: (_length(pair), len(pair[0]))):
        if group and (len(group) + 1) * _length(pair) > training.tokens:
            groups.append(group)
            group = []
        group.append(pair)
    groups.append(group)
    random.Random(training.seed).shuffle(groups)
    if len(groups) < training.steps:
        raise ValueError(f"{training.steps} steps need as many batches; the corpus gives {len(groups)}")
    return [collate(corpus, group) for group in groups[: training.steps]]


def collate(corpus: Corpus, pairs: Sequence[tuple[Ids, Ids]]) -> Batch:
    source = padded(corpus, [source for source, _ in pairs])
    target = padded(corpus, [[corpus.begin, *target] for _, target in pairs])
    return Batch(source, target, sum(len(source) + len(target) + 2 for source, target in pairs))


def padded(corpus: Corpus, rows: Iterable[Ids]) -> Tensor:
    """Rows of ids with the end behind each, as one tensor."""
    return pad_sequence([torch.tensor([*row, corpus.end]) for row in rows], True, corpus.pad)


def train(model: nn.Module, loss: Callable[[Batch], Tensor], batches: list[Batch]) -> Callable[[], int]:
    """A turn of whole steps: forward, backward, clip, update."""
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    model.train()

    def turn() -> int:
        for batch in batches:
            optimizer.zero_grad(set_to_none=True)
            loss(batch).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        return sum(batch.tokens for batch in batches)

    return turn


def by_length(corpus: Corpus, rows: int) -> list[list[int]]:
    """The numbers of the pairs, longest sources first, in groups."""
    order = sorted(range(len(corpus.pairs)), key=lambda number: -len(corpus.pairs[number][0]))
    return [order[start : start + rows] for start in range(0, len(order), rows)]


def ended(row: Ids, end: int) -> Ids:
    """What stands before the end, if there is one."""
    return row[: row.index(end)] if end in row else row


def count(answers: Callable[[], list[Ids]]) -> Callable[[], int]:
    """A turn of decoding that tells how many tokens were written."""
    return lambda: sum(map(len, answers()))


def prepare_keeping_memory(prepare: Prepare, *arguments: Any) -> Callable[[], Any]:
    """Any peer with memory kept between steps as Regard does."""
    keep_memory()
    return prepare(*arguments)


def _length(pair: tuple[Ids, Ids]) -> int:
    return max(map(len, pair)) + 1
