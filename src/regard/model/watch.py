"""Looking at attention without disturbing it.

with watch(model) as seen:
    model(...)
seen["decoder.layers.0.attention"].weights     # [B H T S]
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import InputError

Weigh = Callable[[slice], Float[Tensor, "B H t S"]]


class Sight:
    """The weights of one attention during one pass, formed only when asked for."""

    def __init__(self) -> None:
        self._looks: list[tuple[int, Weigh]] = []

    def add(self, rows: int, weigh: Weigh) -> None:
        self._looks.append((rows, weigh))

    @property
    def seen(self) -> bool:
        """Whether anything passed by."""
        return bool(self._looks)

    @property
    def weights(self) -> Float[Tensor, "B H T S"]:
        """Everything. For long sequences ask for a few `rows` or one `head` instead."""
        return self.rows(0, sum(rows for rows, _ in self._looks))

    def rows(self, start: int, stop: int, head: int | None = None) -> Float[Tensor, "B h t S"]:
        """The weights of asking positions start to stop, of one head or of all."""
        blocks, before = [], 0
        for rows, weigh in self._looks:
            block = slice(max(start - before, 0), min(stop - before, rows))
            if block.start < block.stop:
                with torch.no_grad():
                    weights = weigh(block)
                blocks.append(weights if head is None else weights[:, head : head + 1])
            before += rows
        if not blocks:
            raise ValueError(f"no weights were seen from row {start} to {stop}")
        widest = max(block.shape[-1] for block in blocks)
        return torch.cat([nn.functional.pad(block, (0, widest - block.shape[-1])) for block in blocks], 2)


class Tap(nn.Module):
    """A named place where weights would be, open to any number who watch. Unwatched, none is ever formed."""

    def __init__(self) -> None:
        super().__init__()
        self.sights: tuple[Sight, ...] = ()

    @property
    def watched(self) -> bool:
        """Whether anybody does."""
        return bool(self.sights)

    def forward(self, rows: int, weigh: Weigh) -> None:
        for sight in self.sights:
            sight.add(rows, weigh)


@contextmanager
def watch(model: nn.Module) -> Iterator[dict[str, Sight]]:
    """See every attention of a model by its name; the outputs stay those of the fast kernels."""
    if not isinstance(model, nn.Module):
        raise InputError(f"wanted a model, or a part of one, given {type(model).__name__}")
    named = ((name.removesuffix("tap").removesuffix("."), module) for name, module in model.named_modules())
    taps = {name: module for name, module in named if isinstance(module, Tap)}
    seen = {name: Sight() for name in taps}
    for name, tap in taps.items():
        tap.sights = (*tap.sights, seen[name])
    try:
        yield seen
    finally:
        for name, tap in taps.items():
            tap.sights = tuple(sight for sight in tap.sights if sight is not seen[name])
