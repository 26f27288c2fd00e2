"""What the peers of translation share: batches of sentence pairs, and the loop of training steps."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from regard.allocator import keep_memory
from regard.errors import InputError
from regard.measuring.sizes import IdPairs, Ids, TrainingWork
from regard.measuring.workers import Prepare


@dataclass(frozen=True)
class PeerBatch:
    """Sources [B S] with their eos; targets [B T+1] from bos to eos; `tokens` are those that are not padding."""

    source: Tensor
    target: Tensor
    tokens: int


def bucketed(pairs: IdPairs, work: TrainingWork) -> list[PeerBatch]:
    """As many batches as a turn has steps: pairs of one length together, the batches in random order."""
    groups, group = [], list[tuple[Ids, Ids]]()
    for pair in sorted(pairs.pairs, key=lambda pair: (_length(pair), len(pair[0]))):
        if group and (len(group) + 1) * _length(pair) > work.tokens:
            groups.append(group)
            group = []
        group.append(pair)
    groups.append(group)
    random.Random(work.seed).shuffle(groups)
    if len(groups) < work.steps:
        raise InputError(f"--steps {work.steps}: as many batches are needed, and the data give {len(groups)}")
    return [collate(pairs, group) for group in groups[: work.steps]]


def collate(pairs: IdPairs, group: Sequence[tuple[Ids, Ids]]) -> PeerBatch:
    """Some of the pairs as one batch."""
    source = padded(pairs, [source for source, _ in group])
    target = padded(pairs, [[pairs.bos, *target] for _, target in group])
    return PeerBatch(source, target, sum(len(source) + len(target) + 2 for source, target in group))


def padded(pairs: IdPairs, rows: Iterable[Ids]) -> Tensor:
    """Rows of ids with the eos behind each, as one tensor."""
    return pad_sequence([torch.tensor([*row, pairs.eos]) for row in rows], True, pairs.pad)


def train(model: nn.Module, loss: Callable[[PeerBatch], Tensor], batches: list[PeerBatch]) -> Callable[[], int]:
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


def by_length(pairs: IdPairs, rows: int) -> list[list[int]]:
    """The numbers of the pairs, longest sources first, in groups."""
    order = sorted(range(len(pairs.pairs)), key=lambda number: -len(pairs.pairs[number][0]))
    return [order[start : start + rows] for start in range(0, len(order), rows)]


def ended(row: Ids, eos: int) -> Ids:
    """What stands before the eos, if there is one."""
    return row[: row.index(eos)] if eos in row else row


def count(answers: Callable[[], list[Ids]]) -> Callable[[], int]:
    """A turn of decoding that tells how many tokens were written."""
    return lambda: sum(map(len, answers()))


def prepare_keeping_memory(prepare: Prepare, *arguments: Any) -> Callable[[], Any]:
    """Any peer with memory kept between steps as Regard does."""
    keep_memory()
    return prepare(*arguments)


def _length(pair: tuple[Ids, Ids]) -> int:
    return max(map(len, pair)) + 1
