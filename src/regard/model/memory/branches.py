"""Keys and values of several hypotheses of one sentence, as a beam search has them."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.model.memory.entry import Claim, Entry, Past, beside, columns, grown, picked
from regard.model.positions import Where


class Branches(Past):
    """Written once and never moved: each hypothesis only remembers which of its neighbours wrote a position.

    What all had in common before they parted, the stem, is held once. After it, every position has one
    column for each of the `share` hypotheses; `visible[b, 0, k]` says which columns hypothesis k reads:
    the stem, and one of every position since. Sentences that join have their last columns beside the
    last ones here; what is left of them is filled with zeros that nobody sees. Columns that no hypothesis
    sees any more are dropped whenever the others have to be copied anyway.
    """

    def __init__(self, stem: list[Tensor], share: int, begin: Int[Tensor, "B"] | None = None) -> None:
        rows, columns, device = len(stem[0]), stem[0].shape[2], stem[0].device
        self.length, self.share, self.columns = columns, share, columns
        self.visible: Bool[Tensor, "B 1 k S"] = torch.ones(rows, 1, share, columns, dtype=torch.bool, device=device)
        self._buffers = stem
        self._at: Int[Tensor, "*B S"] = torch.arange(columns, device=device)
        if begin is not None:
            self._at = self._at - begin[:, None]
            self.visible &= (self._at >= 0)[:, None, None]

    def append(
        self, keys: Float[Tensor, "R G T K"], values: Float[Tensor, "R G T C"], where: Where
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S C"], Int[Tensor, "*B S"]]:
        """One position of every hypothesis."""
        assert keys.shape[2] == 1
        claim = self.claim(where)
        assert claim is not None
        used = slice(claim.own, self.columns)
        for buffer, new in zip((claim.keys, claim.values), (keys, values), strict=True):
            buffer[:, :, used] = new.squeeze(2).unflatten(0, (-1, self.share)).transpose(1, 2)  # B G share K
        held = self.tensors()
        return held[0], held[1], self._at

    def claim(self, where: Where) -> Claim | None:
        if where.count > 1:
            return None
        own = torch.eye(self.share, dtype=torch.bool, device=self.visible.device)
        return self._claimed(where, own.expand(len(self.visible), 1, -1, -1))

    def ahead(self, where: Where) -> Claim | None:
        return self._claimed(where, self.visible.new_zeros(*self.visible.shape[:3], self.share * where.count))

    def taken(self, seen: Bool[Tensor, "B 1 k S"] | None, less: int) -> None:
        assert seen is not None
        self.length, self.columns = self.length - less, self.columns - self.share * less
        self.visible, self._at = seen, self._at[..., : self.columns].contiguous()

    def _claimed(self, where: Where, marks: Bool[Tensor, "B 1 k s"]) -> Claim:
        """Room for more columns, which are seen as the marks say."""
        more, device = marks.shape[3], self.visible.device
        used, wanted = self.columns, self.columns + more
        if used and wanted > self._buffers[0].shape[2]:  # what must be copied to grow may as well shrink
            self._dropped(torch.arange(len(self.visible), device=device), 0.5)
            used, wanted = self.columns, self.columns + more
        if wanted > self._buffers[0].shape[2]:
            self._buffers = [grown(buffer, used, wanted) for buffer in self._buffers]
        self.visible = torch.cat([self.visible, marks], 3)
        self._at = torch.cat([self._at, self._new_positions(where)], -1)
        self.length, self.columns = self.length + where.count, wanted
        keys, values = self._buffers
        return Claim(keys, values, used, share=self.share, seen=self.visible, at=self._at)

    def _new_positions(self, where: Where) -> Int[Tensor, "*B k"]:
        """Where new columns stand: those of all hypotheses at one position, then those at the next."""
        if where.within is None or self._at.ndim == 1:
            at = columns(where.start, where.stop, self._at.device).repeat_interleave(self.share)
            return at if self._at.ndim == 1 else at.expand(len(self._at), -1)
        within: Tensor = where.within.unflatten(0, (-1, self.share))
        return within.transpose(1, 2).flatten(1)

    def tensors(self) -> list[Tensor]:
        return [buffer[:, :, : self.columns] for buffer in self._buffers]

    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        sentences = rows[:: self.share] // self.share
        self.visible = self.visible.flatten(0, 2)[rows].unflatten(0, (-1, 1, self.share))
        if not torch.equal(sentences, torch.arange(len(self._buffers[0]), device=rows.device)):
            self._at = self._at if self._at.ndim == 1 else self._at[sentences]
            if not self._dropped(sentences, 0.75):
                self._buffers = [picked(buffer, sentences, self.columns) for buffer in self._buffers]

    def join(self, others: Sequence[Entry]) -> None:
        parts = [self, *(other for other in others if isinstance(other, Branches))]
        for part in parts:
            part._dropped(torch.arange(len(part.visible), device=part.visible.device), 0.75)
        columns = max(part.columns for part in parts)
        self._buffers = [beside(tensors) for tensors in zip(*(part.tensors() for part in parts), strict=True)]
        self._at = torch.cat([F.pad(part._positions(), (columns - part.columns, 0), value=-1) for part in parts])
        self.visible = torch.cat([F.pad(part.visible, (columns - part.columns, 0)) for part in parts])
        self.length, self.columns = max(part.length for part in parts), columns

    def _positions(self) -> Int[Tensor, "B S"]:
        return self._at.expand(len(self.visible), -1)

    def trim(self, columns: int) -> None:
        """Columns here are not those of the batch: they are dropped when no hypothesis sees them any more."""
        self.length = max(0, self.length - columns)

    def _dropped(self, sentences: Int[Tensor, "b"], share: float) -> bool:
        """Keep of these sentences only the columns that one of their hypotheses sees, if that is so small a share.

        Hypotheses soon have most of their past in common, so most of what the others wrote is seen by none.
        """
        seen = self.visible.any(2).squeeze(1)
        most = max(1, int(seen.sum(1).max())) if len(seen) else 1
        if most > share * self.columns:
            return False
        places = seen.to(torch.uint8).argsort(dim=1, stable=True)[
            :, self.columns - most :
        ]  # the seen ones last, in order
        self._buffers = [_picked_columns(buffer, sentences, places) for buffer in self._buffers]
        self._at = self._positions().gather(1, places)
        self.visible = self.visible.gather(3, places[:, None, None].expand(-1, 1, self.share, -1))
        self.columns = most
        return True


def _picked_columns(
    buffer: Float[Tensor, "B G Z K"], rows: Int[Tensor, "b"], columns: Int[Tensor, "b S"]
) -> Float[Tensor, "b G z K"]:
    """Some columns of some rows, with room for half as many more."""
    _, groups, size, width = buffer.shape
    starts = (rows[:, None] * groups + torch.arange(groups, device=rows.device))[..., None] * size
    taken = buffer.reshape(-1, width).index_select(0, (starts + columns[:, None]).flatten())
    used = columns.shape[1]
    made = buffer.new_empty(len(rows), groups, used + max(40, used // 2), width)
    made[:, :, :used] = taken.view(len(rows), groups, used, width)
    return made
