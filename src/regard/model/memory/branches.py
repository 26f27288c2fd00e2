"""Keys and values of several hypotheses of one sentence, as a beam search has them."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.model.memory.entry import Past, grown, picked


class Branches(Past):
    """Written once and never moved: each hypothesis only remembers which of its neighbours wrote a position.

    What all had in common before they parted, the stem, is held once. After it, position t has one
    column for each of the `share` hypotheses; `owners[b, k, t]` says whose column hypothesis k reads.
    """

    def __init__(self, stem: list[Tensor], length: int, share: int) -> None:
        self.length, self.share, self.stem = length, share, length
        self._buffers = stem
        self._owners = torch.zeros(len(stem[0]), share, 0, dtype=torch.long, device=stem[0].device)

    def append(
        self, keys: Float[Tensor, "R G T K"], values: Float[Tensor, "R G T C"]
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S C"], Int[Tensor, "S"]]:
        """One position of every hypothesis."""
        assert keys.shape[2] == 1
        used = self.columns
        wanted = used + self.share
        for place, new in enumerate((keys, values)):
            if wanted > self._buffers[place].shape[2]:
                self._buffers[place] = grown(self._buffers[place], used, wanted)
            columns = new.squeeze(2).unflatten(0, (-1, self.share)).transpose(1, 2)  # B G share K
            self._buffers[place][:, :, used:wanted] = columns
        self.length += 1
        own = torch.arange(self.share, device=keys.device)[:, None].expand(len(self._owners), -1, 1)
        self._owners = torch.cat([self._owners, own], 2)
        held = [buffer[:, :, :wanted] for buffer in self._buffers]
        return held[0], held[1], self._standing()

    @property
    def columns(self) -> int:
        """How many keys are held."""
        return self.stem + (self.length - self.stem) * self.share

    def visible(self) -> Bool[Tensor, "B 1 k S"]:
        """Which columns each hypothesis reads: the stem, and one of every position since."""
        chosen = self._owners[..., None] == torch.arange(self.share, device=self._owners.device)
        stem = chosen.new_ones(*chosen.shape[:2], self.stem)
        return torch.cat([stem, chosen.flatten(2)], 2)[:, None]

    def _standing(self) -> Int[Tensor, "S"]:
        device = self._owners.device
        after = torch.arange(self.stem, self.length, device=device).repeat_interleave(self.share)
        return torch.cat([torch.arange(self.stem, device=device), after])

    def tensors(self) -> list[Tensor]:
        return [buffer[:, :, : self.columns] for buffer in self._buffers]

    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        sentences = rows[:: self.share] // self.share
        self._owners = self._owners.flatten(0, 1)[rows].unflatten(0, (-1, self.share))
        if not torch.equal(sentences, torch.arange(len(self._buffers[0]), device=rows.device)):
            self._buffers = [picked(buffer, sentences, self.columns) for buffer in self._buffers]
