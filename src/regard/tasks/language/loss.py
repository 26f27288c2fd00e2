"""What a language model learns from, and how well it foretells a text: every token, given those before it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.datasets.stream import Marks, Stream
from regard.errors import NoNumbersError
from regard.listener import SILENT, Listener
from regard.model.assembly import LanguageModel
from regard.model.mask import Mask
from regard.model.memory import Memory
from regard.tasks.cross_entropy import SLICE, cross_entropy
from regard.tasks.language.batches import TextBatch, window_batch
from regard.tasks.task import Loss

TOKENS = 4096  # positions of a batch of an exam
WORK = 10**11  # the same times parameters: two seconds on two cores, after which somebody who wants it to end is heard
LANES, LONG = 32, 16  # parts of a text that are read side by side, and windows that each has at least


def language_loss(
    model: LanguageModel, batch: TextBatch, label_smoothing: int | float = 0.0, memory: Memory | None = None
) -> Loss:
    """Σ −log p of every next token; with a memory, each row goes on after what that holds."""
    states = model.states(batch.inputs, Mask(segments=batch.segments), memory)
    return Loss(*cross_entropy(states.flatten(0, 1), model.head, batch.labels.flatten(), label_smoothing))


@dataclass(frozen=True)
class Foretold:
    """−log p of so many tokens in all, and the sums for every position of a window."""

    total: float
    tokens: int
    by_position: list[float]
    windows: list[int]
    """How many were counted at each position."""


@dataclass(frozen=True)
class Reader:
    """Reads a held-out text in windows of the width a model has learnt, a few side by side.

    With a `stride` smaller than the width windows overlap, and only what is new in each counts: every token has more
    before it, at more cost. A model that `carries` its state reads the text as one.
    """

    width: int
    stride: int
    apart: bool = False
    carries: bool = False

    def batches(self, stream: Stream, most: int | None = None, tokens: int = TOKENS) -> Iterator[tuple[TextBatch, int]]:
        """All windows, each with the number of positions that were counted before; so many `tokens` side by side."""
        last = len(stream) - 1 if most is None else min(most, len(stream) - 1)
        if self.carries:
            rows = self.lanes(last)
            lane = last // rows
            for start in range(0, lane, self.width):
                starts = lane * np.arange(rows) + start
                yield window_batch(stream, starts, min(self.width, lane - start), False), 0
            return
        width = min(self.width, last)
        if last > 0:
            yield window_batch(stream, np.zeros(1, np.int64), width, self.apart), 0
        later = range(self.stride, max(self.stride, last - width + 1), self.stride)
        rows = max(1, tokens // width)
        for some in range(0, len(later), rows):
            starts = np.array(later[some : some + rows], np.int64)
            yield window_batch(stream, starts, width, self.apart), width - self.stride
        covered = (later[-1] if later else 0) + width
        if covered < last:  # a last window that ends where the text does
            yield window_batch(stream, np.array([last - width]), width, self.apart), width - (last - covered)

    def lanes(self, tokens: int) -> int:
        """Into how many parts a text is cut that are read side by side, each as one."""
        return max(1, min(LANES, tokens // (LONG * self.width)))

    @torch.inference_mode()
    def read(
        self,
        model: LanguageModel,
        stream: Stream,
        most: int | None = None,
        stopped: Callable[[], bool] = lambda: False,
        listener: Listener = SILENT,
    ) -> Foretold | None:
        """How well a text is foretold; None where somebody wanted it to end."""
        device, total = next(model.parameters()).device, len(stream) - 1 if most is None else min(most, len(stream) - 1)
        width = max(1, min(self.width, total))  # a stranger's recipe may say anything
        sums, counts = torch.zeros(width, dtype=torch.float64), torch.zeros(width, dtype=torch.long)
        memory = model.start(rows=self.lanes(total)) if self.carries else None
        tokens = min(TOKENS, WORK // max(1, sum(parameter.numel() for parameter in model.parameters())))
        for batch, known in self.batches(stream, most, tokens):
            if stopped():
                return None
            listener.at("reading held-out text", int(counts.sum()), total)
            asked = foretold(batch, stream.marks)[:, known:]
            costs = surprises(model, batch.to(device), memory)[:, known:].double().cpu()
            sums[known : known + costs.shape[1]] += costs.where(asked, 0.0).sum(0)
            counts[known : known + costs.shape[1]] += asked.sum(0)
        return Foretold(float(sums.sum()), int(counts.sum()), sums.tolist(), counts.tolist())


def foretold(batch: TextBatch, marks: Marks) -> Bool[Tensor, "B T"]:
    """Which labels are to be foretold. Where a token of its own begins a document, it always comes behind an end."""
    free = (batch.inputs == marks.end) & (batch.labels == marks.begin)
    return ~free if marks.begin != marks.end else torch.ones_like(free)


def surprises(model: LanguageModel, batch: TextBatch, memory: Memory | None = None) -> Float[Tensor, "B T"]:
    """−log p of every label."""
    return label_surprises(model, model.states(batch.inputs, Mask(segments=batch.segments), memory), batch.labels)


def check_numbers(costs: Tensor) -> None:
    """Refuse to say how likely a text is by a model whose scores are numbers no more."""
    if not bool(costs.isfinite().all()):
        raise NoNumbersError(
            "the model's scores of this text are not numbers (NaN or infinite): its weights are damaged, or too large"
        )


def label_surprises(
    model: LanguageModel, states: Float[Tensor, "B T O"], labels: Int[Tensor, "B T"]
) -> Float[Tensor, "B T"]:
    """−log p of labels, given the states before the head; never more logits at a time than fit."""
    flat, wanted = states.flatten(0, 1), labels.flatten()
    size = max(1, SLICE // int(model.head.out_features))
    parts = zip(flat.split(size), wanted.split(size), strict=True)
    costs = [F.cross_entropy(model.head(some).float(), right, reduction="none") for some, right in parts]
    return torch.cat(costs).view_as(labels)
