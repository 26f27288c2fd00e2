"""Keys and values so far: all of them, or a window."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.memory.branches import Branches
from regard.model.memory.entry import Entry, Past, grown, picked, room


class KeysValues(Past):
    """Every key and value so far, in buffers that grow by doubling."""

    def __init__(self) -> None:
        self._buffers: list[Tensor] = []

    def append(
        self, keys: Float[Tensor, "B G T K"], values: Float[Tensor, "B G T C"]
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S C"], Int[Tensor, "S"]]:
        stop = self.length + keys.shape[2]
        if not self._buffers:
            self._buffers = [room(keys, stop), room(values, stop)]
        if stop > self._buffers[0].shape[2]:
            self._buffers = [grown(buffer, self.length, stop) for buffer in self._buffers]
        for buffer, new in zip(self._buffers, (keys, values), strict=True):
            buffer[:, :, self.length : stop] = new
        self.length = stop
        keys, values = (buffer[:, :, :stop] for buffer in self._buffers)
        return keys, values, torch.arange(stop, device=keys.device)

    def tensors(self) -> list[Tensor]:
        return [buffer[:, :, : self.length] for buffer in self._buffers]

    def spread(self, again: Int[Tensor, "R"], share: int) -> Entry:
        return Branches(self.tensors(), self.length, share) if self._buffers else self

    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        self._buffers = [picked(buffer, rows, self.length) for buffer in self._buffers]


class Sliding(Past):
    """The last `width` keys and values, and for ever the `first` ones.

    The buffer has room for twice the width; when it is full, its later half moves to the front.
    So what is kept stands in order, and a step costs the same at position 100 and 10,000.
    """

    def __init__(self, width: int, first: int) -> None:
        self.width, self.first = width, first
        self._recent: list[Tensor] = []
        self._fixed: list[Tensor] = []
        self._stop = 0

    def append(
        self, keys: Float[Tensor, "B G T K"], values: Float[Tensor, "B G T C"]
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S C"], Int[Tensor, "S"]]:
        new = self._keep_first([keys, values])
        if new[0].shape[2] <= 1:
            self._store(new)
            window = self._last()
        else:
            window = [torch.cat(pair, 2) for pair in zip(self._last(), new, strict=True)] if self._recent else new
            self._store(new)
        self.length += keys.shape[2]
        at = torch.arange(self.length - window[0].shape[2], self.length, device=keys.device)
        if not self._fixed:
            return window[0], window[1], at
        at = torch.cat([torch.arange(self._fixed[0].shape[2], device=keys.device), at])
        return torch.cat([self._fixed[0], window[0]], 2), torch.cat([self._fixed[1], window[1]], 2), at

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
            self._recent = [room(tensor, 2 * self.width) for tensor in new]
        if self._stop + new[0].shape[2] > 2 * self.width:
            for buffer in self._recent:
                buffer[:, :, : self.width] = buffer[:, :, self._stop - self.width : self._stop].clone()
            self._stop = self.width
        stop = self._stop + new[0].shape[2]
        for buffer, tensor in zip(self._recent, new, strict=True):
            buffer[:, :, self._stop : stop] = tensor
        self._stop = stop

    def tensors(self) -> list[Tensor]:
        return self._recent + self._fixed

    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        self._recent = [buffer.index_select(0, rows) for buffer in self._recent]
        self._fixed = [buffer.index_select(0, rows) for buffer in self._fixed]
