"""Keys and values of several hypotheses of one sentence, as a beam search has them."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.model.memory.entry import Past, grown, picked


class Branches(Past):
    """Written once and never moved: each hypothesis only remembers which of its neighbours wrote a position.

    What all had in common before they parted, the stem, is held once. After it, position t has one
    column for each of the `share` hypotheses; `visible[b, 0, k]` says which columns hypothesis k reads:
    the stem, and one of every position since.
    """

    def __init__(self, stem: list[Tensor], length: int, share: int) -> None:
        device = stem[0].device
        self.length, self.share, self.columns = length, share, length
        self.visible: Bool[Tensor, "B 1 k S"] = torch.ones(
            len(stem[0]), 1, share, length, dtype=torch.bool, device=device
        )
        self._buffers = stem
        self._at = torch.arange(length, device=device)

    def append(
        self, keys: Float[Tensor, "R G T K"], values: Float[Tensor, "R G T C"]
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S C"], Int[Tensor, "S"]]:
        """One position of every hypothesis."""
        assert keys.shape[2] == 1
        used, wanted = self.columns, self.columns + self.share
        for place, new in enumerate((keys, values)):
            if wanted > self._buffers[place].shape[2]:
                self._buffers[place] = grown(self._buffers[place], used, wanted)
            columns = new.squeeze(2).unflatten(0, (-1, self.share)).transpose(1, 2)  # B G share K
            self._buffers[place][:, :, used:wanted] = columns
        own = torch.eye(self.share, dtype=torch.bool, device=keys.device).expand(len(self.visible), 1, -1, -1)
        self.visible = torch.cat([self.visible, own], 3)
        self._at = torch.cat([self._at, self._at.new_full((self.share,), self.length)])
        self.length, self.columns = self.length + 1, wanted
        held = [buffer[:, :, :wanted] for buffer in self._buffers]
        return held[0], held[1], self._at

    def tensors(self) -> list[Tensor]:
        return [buffer[:, :, : self.columns] for buffer in self._buffers]

    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        sentences = rows[:: self.share] // self.share
        self.visible = self.visible.flatten(0, 2)[rows].unflatten(0, (-1, 1, self.share))
        if not torch.equal(sentences, torch.arange(len(self._buffers[0]), device=rows.device)):
            self._buffers = [picked(buffer, sentences, self.columns) for buffer in self._buffers]
