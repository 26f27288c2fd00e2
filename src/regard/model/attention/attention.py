"""The one signature of every attention, in every stack.

queries ask, keys are compared with them, values are mixed by the result
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from regard.model.attention.view import View
from regard.model.mask import Mask
from regard.model.mechanism import Mechanism
from regard.model.memory import Branches, Entry, Held, KeysValues, Past, Sliding, SourceKeysValues
from regard.model.positions import Moment, Nowhere, Places, Positions, Where
from regard.model.watch import Glance, Tap

NOWHERE = Places(Nowhere(0), Where(0, 0))


@dataclass(frozen=True)
class Site:
    """Where an attention is built in: widths, pattern and positions.

    `data_width` is None for self-attention, where the data are the queries themselves.
    """

    width: int
    data_width: int | None = None
    pattern: Mask = field(default_factory=Mask)
    positions: Positions = NOWHERE.scheme


class Attention(Mechanism, ABC):
    """Mixes values by how well their keys fit a query. It `hears` positions at these moments."""

    hears: ClassVar[tuple[Moment, ...]] = ("rotate", "bias")

    def __init__(self, site: Site) -> None:
        super().__init__()
        site.positions.check(self.hears, "this attention")
        self.pattern = site.pattern
        self.data_width = site.width if site.data_width is None else site.data_width
        self.out_width = self.data_width
        self.tap = Tap()

    @abstractmethod
    def ask(self, queries: Float[Tensor, "B T D"]) -> Float[Tensor, "B H T K"]:
        """What is looked for."""

    @abstractmethod
    def read(self, data: Float[Tensor, "B S E"]) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S C"]]:
        """Keys: what there is to find. Values: what is handed over."""

    def both(
        self, x: Float[Tensor, "B T D"]
    ) -> tuple[Float[Tensor, "B H T K"], Float[Tensor, "B G T K"], Float[Tensor, "B G T C"]]:
        """Ask and read the same vectors: self-attention."""
        return self.ask(x), *self.read(x)

    @abstractmethod
    def weigh(
        self, asked: Float[Tensor, "B H T K"], keys: Float[Tensor, "B G S K"], view: View, rows: slice
    ) -> Float[Tensor, "B H t S"]:
        """Some rows of the weights, written down: for those who watch, and for the naive kernel.

        Every head by itself: who watches may ask for one alone.
        """

    @abstractmethod
    def mix(
        self,
        asked: Float[Tensor, "B H T K"],
        keys: Float[Tensor, "B G S K"],
        values: Float[Tensor, "B G S C"],
        view: View,
    ) -> Float[Tensor, "B H T C"]:
        """Σ_j α_ij v_j, by whatever kernel is fastest."""

    def answer(self, mixed: Float[Tensor, "B H T C"]) -> Float[Tensor, "B T D"]:
        """From heads back to one vector per query."""
        return mixed.transpose(1, 2).flatten(2)

    def start(self) -> Past | Held:
        """An empty memory for self-attention, step by step."""
        if self.pattern.window is None:
            return KeysValues()
        return Sliding(self.pattern.window, self.pattern.first)

    def remember(self, data: Float[Tensor, "B S E"], mask: Mask) -> Held:
        """What cross-attention needs of the data, computed once for all steps."""
        return SourceKeysValues(*self.read(data))

    def forward(
        self,
        queries: Float[Tensor, "B T D"],
        data: Float[Tensor, "B S E"] | None,
        mask: Mask,
        places: Places = NOWHERE,
        memory: Entry | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Self-attention if there are no data, else cross-attention; both can use a memory.

        Data that have places are those of self-attention, too: only the first of them ask, and the queries are these.
        """
        view = View(mask)
        if data is not None and places is not NOWHERE:
            return self._front(queries, data, mask, places)
        if data is not None:
            asked, keys, values = self.ask(queries), *self.read(data)
        elif isinstance(memory, Held):
            return self._recall(queries, memory, view)
        else:
            asked, keys, values = self.both(queries)
            asked, keys = places.rotate(asked), places.rotate(keys)
            slopes = places.slopes(asked.shape[1])
            if isinstance(memory, Branches):
                heads = zip(asked.split(1, 2), keys.split(1, 2), values.split(1, 2), strict=True)
                steps = [
                    self._branch(*step, memory, View(Mask(), slopes), places.where.step(number))
                    for number, step in enumerate(heads)
                ]
                return torch.cat(steps, 1) if len(steps) > 1 else steps[0]
            at = None
            if isinstance(memory, Past):
                fresh = memory.length == 0
                kept = memory.append(keys, values, places.where)
                keys, values, at = (keys, values, None) if fresh else kept
            view = View(mask, slopes, at)
        return self.answer(self._mixed(asked, keys, values, view, data is not None))

    def _front(self, queries: Tensor, data: Tensor, mask: Mask, places: Places) -> Float[Tensor, "B T D"]:
        """What the first positions find among all; those who watch see what all of them would."""
        asked, keys, values = self.ask(queries), *self.read(data)
        asked, keys = places.front(asked.shape[2]).rotate(asked), places.rotate(keys)
        view = View(mask, places.slopes(asked.shape[1]))
        mixed = self.mix(asked, keys, values, view)
        if self.tap.watched:
            everyone = places.rotate(self.ask(data))
            self._show(everyone, keys, values, self.mix(everyone, keys, values, view), view)
        return self.answer(self.tap(mixed))

    def _recall(self, queries: Tensor, memory: Held, view: View) -> Tensor:
        """Cross-attention to what was read before; rows that share a source ask as if they were positions of one."""
        keys, values = memory.held
        asked = self.ask(queries)
        return self.answer(unfold(self._mixed(fold(asked, len(keys)), keys, values, view, True), len(asked)))

    def _branch(
        self, asked: Tensor, keys: Tensor, values: Tensor, memory: Branches, view: View, where: Where
    ) -> Float[Tensor, "R 1 D"]:
        """One step of several hypotheses a sentence: each reads its own line of what all have written."""
        keys, values, at = memory.append(keys, values, where)
        view = replace(view, at=at, chosen=memory.visible)
        return self.answer(unfold(self._mixed(fold(asked, len(keys)), keys, values, view), len(asked)))

    def _mixed(self, asked: Tensor, keys: Tensor, values: Tensor, view: View, across: bool = False) -> Tensor:
        """What every head has to say, shown to those who watch; of heads that are switched off, nothing."""
        mixed = self.mix(asked, keys, values, view)
        if self.tap.idle:
            return mixed
        if self.tap.watched:
            if view.at is not None:
                keys, values = keys.clone(), values.clone()  # the memory will write over its own
            self._show(asked, keys, values, mixed, view, across)
        heard: Tensor = self.tap(mixed)
        return heard

    def _show(
        self, asked: Tensor, keys: Tensor, values: Tensor, mixed: Tensor, view: View, across: bool = False
    ) -> None:
        weigh = partial(self._weigh, asked, keys, view)
        self.tap.show(Glance(asked, keys, values, mixed, weigh, view.at, across))

    def _weigh(self, asked: Tensor, keys: Tensor, view: View, rows: slice, head: int | None) -> Tensor:
        """Some rows of all heads; or of one, for which no other is weighed where heads have nothing of their own."""
        heads, groups = asked.shape[1], keys.shape[1]
        if head is None or heads == 1:
            return self.weigh(asked, keys, view, rows)
        group = head // (heads // groups)
        one = view if view.slopes is None else replace(view, slopes=view.slopes[head : head + 1])
        alone = self.weigh(asked[:, head : head + 1], keys[:, group : group + 1], one, rows)
        return alone if alone.shape[1] == 1 else self.weigh(asked, keys, view, rows)[:, head : head + 1]


def split(x: Float[Tensor, "B T W"], heads: int) -> Float[Tensor, "B H T K"]:
    """Cut vectors into heads."""
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def fold(asked: Float[Tensor, "R H T K"], rows: int) -> Float[Tensor, "B H t K"]:
    """Rows that share a source become positions of one row."""
    return asked if len(asked) == rows else asked.unflatten(0, (rows, -1)).transpose(1, 2).flatten(2, 3)


def unfold(mixed: Float[Tensor, "B H t C"], rows: int) -> Float[Tensor, "R H T C"]:
    """And back."""
    share = rows // len(mixed)
    return mixed if share == 1 else mixed.unflatten(2, (share, -1)).transpose(1, 2).flatten(0, 1)


def divide(width: int, heads: int) -> int:
    """The width of one head."""
    if width % heads:
        raise ValueError(f"heads: {heads} heads do not divide width {width}")
    return width // heads
