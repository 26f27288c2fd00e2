"""Windows of text: what is read, and the label of each position, the token that comes next."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.datasets.order import Reckoned, shuffled
from regard.datasets.rows import Numbers
from regard.datasets.stream import Stream

FORGETS = 16  # windows, after which a lane begins anew: a model that never begins does not learn how to


@dataclass(frozen=True)
class TextBatch:
    """Windows of one length; `segments` says which document a position belongs to, where they are kept apart."""

    inputs: Int[Tensor, "B T"]
    labels: Int[Tensor, "B T"]
    segments: Int[Tensor, "B T"] | None = None
    goes_on: Bool[Tensor, "B"] | None = None
    """Which rows go on where those of the step before ended; None is none."""

    @property
    def size(self) -> int:
        """All tokens."""
        return self.inputs.numel()

    @property
    def predictions(self) -> int:
        """One for every token."""
        return self.labels.numel()

    def to(self, device: torch.device) -> "TextBatch":
        return self._each(lambda tensor: tensor.to(device, non_blocking=True))

    def part(self, number: int, of: int) -> "TextBatch":
        """Every `of`-th row."""
        return self._each(lambda tensor: tensor[number::of])

    def _each(self, change: Callable[[Tensor], Tensor]) -> "TextBatch":
        segments, goes_on = (None if one is None else change(one) for one in (self.segments, self.goes_on))
        return TextBatch(change(self.inputs), change(self.labels), segments, goes_on)


def window_batch(stream: Stream, starts: Numbers, width: int, apart: bool) -> TextBatch:
    """The windows that begin at some places of a stream."""
    places = starts[:, None] + np.arange(width + 1)
    ids = torch.from_numpy(stream.ids(places))
    segments = torch.from_numpy(stream.documents(places[:, :-1])) if apart else None
    return TextBatch(ids[:, :-1], ids[:, 1:], segments)


class Windows:
    """Windows in a new order every epoch, cut anew: they begin at another place each time.

    Which windows a step sees is a function of (seed, step) alone.
    """

    def __init__(self, stream: Stream, width: int, rows: int, seed: int, apart: bool = False) -> None:
        self.stream, self.width, self.seed, self.apart = stream, width, seed, apart
        whole = (len(stream) - 1) // width
        self.windows = max(1, whole - 1)  # one less, so that there is room to begin elsewhere
        self.room = len(stream) - 1 - self.windows * width
        self.rows = min(rows, self.windows)
        self._epoch = lru_cache(2)(self._shuffled)

    def __len__(self) -> int:
        """Batches in an epoch; the few windows that make no whole batch are left to another one."""
        return self.windows // self.rows

    def __getitem__(self, step: int) -> TextBatch:
        return window_batch(self.stream, self.starts(step), self.width, self.apart)

    def starts(self, step: int) -> Numbers:
        """Where the windows of a step begin."""
        epoch, number = divmod(step, len(self))
        phase, order = self._epoch(epoch)
        return phase + self.width * order[number * self.rows : (number + 1) * self.rows]

    def _shuffled(self, epoch: int) -> tuple[int, Numbers | Reckoned]:
        """Where the first window begins, and in which order they are read."""
        chance = np.random.default_rng((self.seed, epoch))
        phase = int(chance.integers(min(self.room, self.width - 1) + 1))
        return phase, shuffled(self.windows, chance)


class Lanes:
    """The text in as many lanes as a batch has rows, read side by side, window after window: what a recurrent model
    remembers at the end of one is what it knows at the beginning of the next (truncated BPTT).

    Each lane forgets after 16 windows, one after the other. In texts read as one from end to end nothing is ever
    remembered but what was gathered from their first letters on: a GRU that foretold them at 1.64 nats a letter
    needed 4.1 for any other text, which begins with nothing in mind.
    """

    def __init__(self, stream: Stream, width: int, rows: int, seed: int) -> None:
        self.stream, self.width, self.seed = stream, width, seed
        self.rows = max(1, min(rows, (len(stream) - 1) // width))
        self.lane = (len(stream) - 1) // self.rows
        self._windows = max(1, self.lane // width)

    def __len__(self) -> int:
        return self._windows

    def __getitem__(self, step: int) -> TextBatch:
        epoch, number = divmod(step, len(self))
        room = self.lane - self._windows * self.width
        phase = int(np.random.default_rng((self.seed, epoch)).integers(room + 1))
        starts = self.lane * np.arange(self.rows) + phase + number * self.width
        batch = window_batch(self.stream, starts, self.width, False)
        if number == 0:
            return batch
        windows = number + FORGETS * np.arange(self.rows) // self.rows  # so that they do not all forget at once
        return replace(batch, goes_on=torch.from_numpy(windows % FORGETS != 0))
