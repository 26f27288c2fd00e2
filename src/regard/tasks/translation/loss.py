"""What a translator learns from: every word of the target, given the right words before it."""

from collections.abc import Callable, Mapping
from math import log, nan

import torch
from jaxtyping import Int
from torch import Tensor

from regard.datasets.encode import Encoded
from regard.datasets.pairs import Pair
from regard.listener import SILENT, Listener
from regard.model.assembly import Seq2Seq
from regard.tasks.cross_entropy import cross_entropy
from regard.tasks.task import Loss
from regard.tasks.translation.batches import PairBatch, PairBatches


def translation_loss(
    model: Seq2Seq, batch: PairBatch, label_smoothing: int | float = 0.0, scheduled_sampling: int | float = 0.0
) -> Loss:
    """`label_smoothing` spreads a share of each label over all words; `scheduled_sampling` gives the model that share
    of its own words instead of the right ones. Padding is dropped before the head: no logits are made for it."""
    inputs = _sampled(model, batch, scheduled_sampling) if scheduled_sampling else batch.inputs
    states = model.states(batch.source, inputs, batch.source_lengths)
    real = torch.arange(inputs.shape[1], device=states.device) < batch.lengths[:, None]
    return Loss(*cross_entropy(states[real], model.head, batch.labels[real], label_smoothing))


@torch.inference_mode()
def held_out_loss(
    model: Seq2Seq,
    batches: PairBatches,
    stopped: Callable[[], bool] = lambda: False,
    listener: Listener = SILENT,
) -> float:
    """The mean −log p of every word of held-out targets."""
    total, count = 0.0, 0
    for done, batch in enumerate(batches.in_order()):
        if stopped():
            break
        listener.at("computing the loss", done, len(batches))
        total += float(translation_loss(model, batch.to(next(model.parameters()).device)).plain)
        count += batch.predictions
    return total / count if count else float("nan")


def bits_per_byte(loss: float, corpus: Encoded, rows: Mapping[int, Pair]) -> float:
    """The same for every byte of the targets, whatever they were cut into: a line end is a byte, and was predicted."""
    predictions = int(corpus.sides[1].lengths.sum()) + len(corpus)
    size = sum(len(rows[number][1].encode()) + 1 for number in corpus.numbers.tolist())
    return loss * predictions / (log(2) * size) if size else nan


@torch.no_grad()
def _sampled(model: Seq2Seq, batch: PairBatch, share: int | float) -> Int[Tensor, "B T"]:
    """Scheduled sampling in two passes: some inputs become what the model would have said there."""
    said = model(batch.source, batch.inputs, batch.source_lengths).argmax(-1)
    said = torch.cat([batch.inputs[:, :1], said[:, :-1]], 1)
    drawn = torch.rand(batch.inputs.shape, device=said.device) < share
    return torch.where(drawn, said, batch.inputs)
