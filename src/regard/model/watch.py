"""Looking at attention without disturbing it, and switching heads off.

with watch(model) as seen:
    model(...)
seen["decoder.layers.0.attention"].weights     # [B H T S]

with silenced(model, {"decoder.layers.0.attention": [3]}):
    model(...)                                 # as if head 3 said nothing
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import InputError

Weigh = Callable[[slice, int | None], Float[Tensor, "B h t S"]]
"""Weights of some rows, of one head or of all."""


@dataclass(frozen=True)
class Glance:
    """What one attention did in one pass: who asked, what was there, by what it was mixed, and what came of it.

    `at` says where the keys of a memory stand, if not in their order; `across` whether they are of another sequence.
    `values` are None where only their sums are kept.
    """

    asked: Float[Tensor, "B H T K"]
    keys: Float[Tensor, "B G S K"]
    values: Float[Tensor, "B G S C"] | None
    mixed: Float[Tensor, "B H T C"]
    weigh: Weigh
    at: Int[Tensor, "*N S"] | None = None
    across: bool = False

    @property
    def rows(self) -> int:
        """How many asked."""
        return self.asked.shape[2]

    def weights(self, rows: slice, head: int | None = None) -> Float[Tensor, "B h t N"]:
        """Columns are positions, also where a memory kept only some.

        Added up, since several hypotheses wrote a position, of which each sees one.
        """
        weights = self.weigh(rows, head)
        if self.at is None:
            return weights
        places = self.at.clamp(min=0).view(-1, 1, 1, self.at.shape[-1]).expand_as(weights)  # no key has no weight
        return weights.new_zeros(*weights.shape[:3], int(self.at.max()) + 1).scatter_add(3, places, weights)

    def mismatch(self, rows: slice) -> float:
        """The largest difference between what the kernel gave and Σ_j α_ij v_j by the weights that are shown."""
        if self.values is None:
            return 0.0
        shared = self.asked.shape[1] // self.values.shape[1]
        values = self.values if shared == 1 else self.values.repeat_interleave(shared, 1)
        shown = self.weigh(rows, None).to(values.dtype) @ values
        return float((shown - self.mixed[:, :, rows]).abs().max())


class Sight:
    """The weights of one attention during one pass, formed only when asked for."""

    def __init__(self) -> None:
        self.glances: list[Glance] = []

    def add(self, glance: Glance) -> None:
        self.glances.append(glance)

    @property
    def seen(self) -> bool:
        """Whether anything passed by."""
        return bool(self.glances)

    @property
    def weights(self) -> Float[Tensor, "B H T S"]:
        """Everything. For long sequences ask for a few `rows` or one `head` instead."""
        return self.rows(0, sum(glance.rows for glance in self.glances))

    def rows(self, start: int, stop: int, head: int | None = None) -> Float[Tensor, "B h t S"]:
        """The weights of asking positions start to stop, of one head or of all."""
        with torch.no_grad():
            blocks = [glance.weights(rows, head) for glance, rows in self.parts(start, stop)]
        if not blocks:
            raise ValueError(f"no weights were seen from row {start} to {stop}")
        if len(blocks) == 1:
            return blocks[0]
        widest = max(block.shape[-1] for block in blocks)
        return torch.cat([nn.functional.pad(block, (0, widest - block.shape[-1])) for block in blocks], 2)

    def parts(self, start: int, stop: int) -> Iterator[tuple[Glance, slice]]:
        """What passed by while positions start to stop asked, and which of its own rows they are."""
        before = 0
        for glance in self.glances:
            block = slice(max(start - before, 0), min(stop - before, glance.rows))
            if block.start < block.stop:
                yield glance, block
            before += glance.rows


class Tap(nn.Module):
    """A named place where weights would be, open to any number who watch. Unwatched, none is ever formed.

    Here heads are switched off, too: what such a head mixed goes on as zeros [Michel et al. 2019].
    """

    def __init__(self) -> None:
        super().__init__()
        self.sights: tuple[Sight, ...] = ()
        self.silent: tuple[frozenset[int], ...] = ()
        """The heads that are off: in all rows of a batch, or in each its own."""

    @property
    def watched(self) -> bool:
        """Whether anybody does."""
        return bool(self.sights)

    @property
    def idle(self) -> bool:
        """Whether nobody watches and every head is on: then the tap is passed by."""
        return not self.sights and not self.silent

    def show(self, glance: Glance) -> None:
        """To all who watch."""
        for sight in self.sights:
            sight.add(glance)

    def forward(self, mixed: Float[Tensor, "B H T C"]) -> Float[Tensor, "B H T C"]:
        if not self.silent:
            return mixed
        kept = torch.ones(len(self.silent), mixed.shape[1], dtype=mixed.dtype, device=mixed.device)
        for row, heads in enumerate(self.silent):
            if heads and max(heads) >= mixed.shape[1]:
                raise InputError(f"head {max(heads)}: this attention has {mixed.shape[1]}, counted from 0")
            kept[row, list(heads)] = 0
        return mixed * kept[:, :, None, None]


@contextmanager
def watch(model: nn.Module) -> Iterator[dict[str, Sight]]:
    """See every attention of a model by its name; the outputs stay those of the fast kernels."""
    taps = _taps(model)
    seen = {name: Sight() for name in taps}
    for name, tap in taps.items():
        tap.sights = (*tap.sights, seen[name])
    try:
        yield seen
    finally:
        for name, tap in taps.items():
            tap.sights = tuple(sight for sight in tap.sights if sight is not seen[name])


@contextmanager
def silenced(model: nn.Module, *rows: Mapping[str, Collection[int]]) -> Iterator[None]:
    """Switch heads off, by the names of their attentions: one table for all rows of a batch, or one for each row.

    Weights that are watched meanwhile are those that a silent head would have mixed by.
    """
    taps = _taps(model)
    for name in (name for row in rows for name in row):
        if name not in taps:
            raise InputError(f"{name}: no attention of this model; there are {', '.join(taps) or 'none'}")
    before = {name: tap.silent for name, tap in taps.items()}
    for name in {name for row in rows for name in row}:
        taps[name].silent = tuple(frozenset(row.get(name, ())) for row in rows)
    try:
        yield
    finally:
        for name, tap in taps.items():
            tap.silent = before[name]


def _taps(model: nn.Module) -> dict[str, Tap]:
    if not isinstance(model, nn.Module):
        raise InputError(f"wanted a model, or a part of one, given {type(model).__name__}")
    named = ((name.removesuffix("tap").removesuffix("."), module) for name, module in model.named_modules())
    return {name: module for name, module in named if isinstance(module, Tap)}
