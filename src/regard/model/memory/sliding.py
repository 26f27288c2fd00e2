"""The last keys and values: a window."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.memory.entry import Claim, Entry, Past, columns, grown, padded, room
from regard.model.positions import Where

SPAN = 64  # positions that a buffer has room for in the beginning


class Sliding(Past):
    """The last `width` keys and values, and for ever the `first` ones.

    The buffer grows by doubling up to twice the width; when that is full, its later half moves to the front.
    So what is kept stands in order, and a step costs the same at position 100 and 10,000.
    Rows that began together keep their first positions apart from the window. When others join, the
    window holds every row's last columns, and a first position counts only once it has left the window.
    """

    def __init__(self, width: int, first: int) -> None:
        self.width, self.first = width, first
        self._recent: list[Tensor] = []
        self._fixed: list[Tensor] = []
        self._stop = 0
        self._joined = False

    def append(
        self, keys: Float[Tensor, "B G T K"], values: Float[Tensor, "B G T C"], where: Where
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S C"], Int[Tensor, "*B S"]]:
        steps = keys.shape[2]
        new = [keys, values] if self._joined else self._keep_first([keys, values])
        if new[0].shape[2] <= 1:
            self._store(new)
            window = self._last()
        else:
            window = [torch.cat(pair, 2) for pair in zip(self._last(), new, strict=True)] if self._recent else new
            self._store(new)
        self.length += steps
        if self._joined:
            return self._of_each_row(new, window, where)
        at = columns(self.length - window[0].shape[2], self.length, keys.device)
        if not self._fixed:
            return window[0], window[1], at
        at = torch.cat([torch.arange(self._fixed[0].shape[2], device=keys.device), at])
        return torch.cat([self._fixed[0], window[0]], 2), torch.cat([self._fixed[1], window[1]], 2), at

    def make_room(self, shape: tuple[int, int, int]) -> None:
        """First positions that are kept apart have to be appended."""
        rows, heads, width = shape
        if not self._recent and not self.first:
            self._recent = [torch.empty(rows, heads, min(SPAN, 2 * self.width), width) for _ in ("keys", "values")]

    def claim(self, where: Where) -> Claim | None:
        count = where.count
        if not self._recent or count > self.width or not (self._joined or self.length >= self.first):
            return None
        self._make_room(count)
        own, self._stop, self.length = self._stop, self._stop + count, self.length + count
        apart = (self._fixed[0], self._fixed[1]) if self._fixed else None
        return Claim(self._recent[0], self._recent[1], own, self.width, apart)

    def mark(self, ahead: int) -> Any:
        """Where room is made now, none has to be made on the way: what the window had then is still there."""
        if not self._recent or self._joined or ahead > self.width or self.length < self.first:
            return super().mark(ahead)
        self._make_room(ahead)
        return self._stop, self.length

    def back(self, mark: Any, kept: int) -> bool:
        if isinstance(mark, dict):
            return super().back(mark, kept)
        self._stop, self.length = mark[0] + kept, mark[1] + kept
        return True

    def _of_each_row(self, new: list[Tensor], window: list[Tensor], where: Where) -> tuple[Tensor, Tensor, Tensor]:
        """What is kept where rows began at different times: every row's positions are its own."""
        rows, steps, columns = len(new[0]), new[0].shape[2], window[0].shape[2]
        last = torch.full((rows, 1), where.stop - 1, device=new[0].device)
        last = last if where.within is None else where.within[:, -1:]
        at = last - torch.arange(columns - 1, -1, -1, device=last.device)
        if not self.first:
            return window[0], window[1], at
        for step in range(steps):
            position = (last - (steps - 1 - step)).squeeze(1)
            young = (position < self.first).nonzero().flatten()
            for fixed, tensor in zip(self._fixed, new, strict=True):
                fixed[young, :, position[young]] = tensor[young, :, step]
        first = torch.arange(self.first, device=last.device).expand(rows, -1)
        first = first.where(first <= last - columns, -1)
        kept = [torch.cat(pair, 2) for pair in zip(self._fixed, window, strict=True)]
        return kept[0], kept[1], torch.cat([first, at], 1)

    def _keep_first(self, new: list[Tensor]) -> list[Tensor]:
        """Global positions are taken off the front and kept; the others are given back."""
        count = max(0, min(self.first - self.length, new[0].shape[2]))
        if count:
            heads = [tensor[:, :, :count] for tensor in new]
            self._fixed = [torch.cat([*self._fixed[i : i + 1], head], 2) for i, head in enumerate(heads)]
        return [tensor[:, :, count:] for tensor in new]

    def _last(self) -> list[Tensor]:
        return [buffer[:, :, max(0, self._stop - self.width) : self._stop] for buffer in self._recent]

    def _store(self, new: list[Tensor]) -> None:
        new = [tensor[:, :, -self.width :] for tensor in new]
        if not self._recent:
            self._recent = [room(tensor, min(max(new[0].shape[2], SPAN), 2 * self.width)) for tensor in new]
        self._make_room(new[0].shape[2])
        stop = self._stop + new[0].shape[2]
        for buffer, tensor in zip(self._recent, new, strict=True):
            buffer[:, :, self._stop : stop] = tensor
        self._stop = stop

    def _make_room(self, count: int) -> None:
        """For so many more columns, no more than the window has."""
        if self._stop + count > 2 * self.width:
            for buffer in self._recent:
                buffer[:, :, : self.width] = buffer[:, :, self._stop - self.width : self._stop].clone()
            self._stop = self.width
        stop = self._stop + count
        if stop > self._recent[0].shape[2]:  # a wide window costs no more than what is in it
            self._recent = [grown(buffer, self._stop, stop)[:, :, : 2 * self.width] for buffer in self._recent]

    def tensors(self) -> list[Tensor]:
        return self._last() + self._fixed

    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        self._recent = [buffer.index_select(0, rows) for buffer in self._recent]
        self._fixed = [buffer.index_select(0, rows) for buffer in self._fixed]

    def join(self, others: Sequence[Entry]) -> None:
        parts = [self, *(other for other in others if isinstance(other, Sliding))]
        held = [part._aligned() for part in parts if part._recent]
        if held:
            self._recent = [padded(torch.cat([window[i] for window, _ in held]), 0, self.width) for i in (0, 1)]
            self._fixed = [torch.cat([fixed[i] for _, fixed in held]) for i in (0, 1)] if self.first else []
            self._stop, self._joined = self.width, True
            self.length = max(part.length for part in parts)

    def _aligned(self) -> tuple[list[Tensor], list[Tensor]]:
        """The last `width` columns with first positions among them, and those for ever; zeros fill up."""
        window, fixed = self._last(), self._fixed or [tensor[:, :, :0] for tensor in self._recent]
        missing = self.width - window[0].shape[2]
        if not self._joined and missing and self.first:
            window = [torch.cat([old[:, :, -missing:], new], 2) for old, new in zip(fixed, window, strict=True)]
        window = [padded(tensor, self.width - tensor.shape[2]) for tensor in window]
        return window, [padded(tensor, 0, self.first - tensor.shape[2]) for tensor in fixed]
