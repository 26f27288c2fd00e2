"""All that a decoder keeps."""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from regard.model.mask import Mask
from regard.model.memory.entry import Entry, Held
from regard.model.positions import Where


class Mark(NamedTuple):
    """A moment in a memory's life: how many steps there were, and how every entry was."""

    length: int
    entries: list[Any]


class Memory:
    """All that a decoder keeps between steps, for every row.

    `layers`: one entry a layer. `fed`: what a recurrent decoder is told again at the next step.
    `cross`: what was read of the source; it and `source_lengths` are held once a sentence, all else once
    a row. Rows are hypotheses: `share` neighbouring ones belong to the same sentence.

    `length` counts the steps of the batch so far. Rows that joined later began at a later column, `begin`;
    a row's position is the column less that. The oldest row began at 0; None says that all did.
    """

    def __init__(
        self,
        rows: int,
        layers: Sequence[Entry] = (),
        *,
        fed: Held | None = None,
        cross: Sequence[Held] = (),
        source_lengths: Int[Tensor, "B"] | None = None,
    ) -> None:
        self.rows, self.share, self.length = rows, 1, 0
        self.begin: Tensor | None = None
        self.layers, self.fed, self.cross = list(layers), fed, list(cross)
        self.source_lengths = source_lengths

    def __iter__(self) -> Iterator[Entry]:
        return iter([*self._moving(), *self.cross])

    def held(self) -> list[Held]:
        """The layers, where they hold tensors of a fixed size."""
        return [entry for entry in self.layers if isinstance(entry, Held)]

    def source_mask(self) -> Mask:
        """What cross-attention may see of the source."""
        return Mask(key_lengths=self.source_lengths)

    def where(self, steps: int) -> Where:
        """The positions of the next steps."""
        stop = self.length + steps
        if self.begin is None:
            return Where(self.length, stop)
        columns = torch.arange(self.length, stop, device=self.begin.device)
        return Where(self.length, stop, columns - self.begin[:, None])

    def advance(self, steps: int) -> None:
        """So many steps have been taken in."""
        self.length += steps

    def mark(self, ahead: int) -> Mark:
        """How it is now, to come `back` to when no more than `ahead` positions have followed."""
        return Mark(self.length, [entry.mark(ahead) for entry in self._moving()])

    def back(self, mark: Mark, kept: int = 0) -> int:
        """Drop all that followed a mark but its first `kept` positions; so many of them must be read again.

        Keys and values are cut off. States and sums cannot be: they are what they were at the mark.
        """
        if self.length == mark.length + kept:
            return 0
        entries = list(zip(self._moving(), mark.entries, strict=True))
        cut = all(entry.back(was, kept) for entry, was in entries)
        if not cut:
            for entry, was in entries:
                entry.back(was, 0)
        self.length = mark.length + (kept if cut else 0)
        return 0 if cut else kept

    def again(self, rows: Int[Tensor, "R"]) -> "Memory":
        """Another memory, whose rows are chosen ones of this; what is here stays as it is."""
        other = copy(self)
        other.layers, other.cross = [copy(entry) for entry in self.layers], [copy(entry) for entry in self.cross]
        other.fed = copy(self.fed)
        other.reorder(rows)
        return other

    def _moving(self) -> list[Entry]:
        """What a step changes."""
        return [*self.layers, *([] if self.fed is None else [self.fed])]

    @property
    def nbytes(self) -> int:
        """Bytes of all that is held."""
        lengths = 0 if self.source_lengths is None else self.source_lengths.nbytes
        return lengths + sum(entry.nbytes for entry in self)

    @property
    def roomy(self) -> bool:
        """Whether it can be spread before the first step."""
        return all(entry.roomy for entry in self._moving())

    def spread(self, share: int) -> None:
        """From one hypothesis a sentence to `share` equal ones."""
        again = torch.arange(self.rows, device=self._device()).repeat_interleave(share)
        self.layers = [entry.spread(again, share, self.begin) for entry in self.layers]
        if self.fed is not None:
            self.fed.reorder(again)
        self.begin = None if self.begin is None else self.begin[again]
        self.share, self.rows = share, self.rows * share

    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        """Rows of one sentence stay neighbours; whole sentences may leave."""
        sentences = rows[:: self.share] // self.share
        count = self.rows // self.share
        stays = len(sentences) == count and bool((sentences == torch.arange(count, device=rows.device)).all())
        self.rows = len(rows)
        for entry in self._moving():
            entry.reorder(rows)
        if stays:
            return
        for entry in self.cross:
            entry.reorder(sentences)
        if self.source_lengths is not None:
            self.source_lengths = self.source_lengths[sentences]
        if self.begin is not None:
            self._begin_at(self.begin[rows])

    def join(self, others: "Sequence[Memory]") -> None:
        """Take in the rows of other memories, behind those that are here; each goes on where it was."""
        parts = [self, *others]
        if self.cross and any(part.source_lengths is None for part in parts):
            raise ValueError("rows can join only if the lengths of their sources are known: give `lengths` to start")
        length = max(part.length for part in parts)
        ragged = any(part.begin is not None or part.length < length for part in parts)
        device = self._device()
        begins = [
            (torch.zeros(part.rows, dtype=torch.long, device=device) if part.begin is None else part.begin)
            + (length - part.length)
            for part in parts
        ]
        lengths = [part.source_lengths for part in parts if part.source_lengths is not None]
        if lengths:
            self.source_lengths = torch.cat(lengths)
            for entry in (entry for part in parts for entry in part.cross):
                entry.narrow(max(1, int(self.source_lengths.max())))
        for entry, *rest in zip(*(list(part) for part in parts), strict=True):
            entry.join(rest)
        self.begin = torch.cat(begins) if ragged else None
        self.length, self.rows = length, sum(part.rows for part in parts)

    def _begin_at(self, begin: Int[Tensor, "R"]) -> None:
        """Columns before the oldest row that is left are forgotten, so that an endless stream needs bounded memory."""
        unseen = int(begin.min()) if len(begin) else 0
        self.begin = begin - unseen if unseen else begin
        if unseen:
            self.length -= unseen
            for entry in self.layers:
                entry.trim(unseen)
        if not self.begin.any():
            self.begin = None

    def _device(self) -> torch.device | None:
        return next((tensor.device for entry in self for tensor in entry.tensors()), None)
