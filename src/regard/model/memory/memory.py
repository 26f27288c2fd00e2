"""All that a decoder keeps, by name."""

from collections.abc import Iterator

import torch
from jaxtyping import Int
from torch import Tensor

from regard.model.mask import Mask
from regard.model.memory.entry import Entry, Held


class Memory:
    """All entries of a decoder, by name.

    What was read of the source (`cross`, `lengths`) is held once a sentence; all else once a row.
    Rows are hypotheses: `share` neighbouring ones belong to the same sentence.
    """

    SOURCE = ("cross", "lengths")

    def __init__(self, **entries: Entry | list[Entry]) -> None:
        self.entries = {name: held if isinstance(held, list) else [held] for name, held in entries.items()}
        self.share = 1

    def __iter__(self) -> Iterator[Entry]:
        return (entry for held in self.entries.values() for entry in held)

    def __getitem__(self, name: str) -> list[Entry]:
        return self.entries.get(name, [])

    def held(self, name: str) -> list[Held]:
        return [entry for entry in self[name] if isinstance(entry, Held)]

    def source_mask(self) -> Mask:
        """What cross-attention may see of the source."""
        lengths = self.held("lengths")
        return Mask(key_lengths=lengths[0].held[0]) if lengths else Mask()

    @property
    def length(self) -> int:
        return max((entry.length for entry in self), default=0)

    @property
    def nbytes(self) -> int:
        return sum(entry.nbytes for entry in self)

    def spread(self, share: int, rows: int) -> None:
        """From one hypothesis a sentence to `share` equal ones."""
        device = next((tensor.device for entry in self for tensor in entry.tensors()), None)
        again = torch.arange(rows, device=device).repeat_interleave(share)
        for name, held in self.entries.items():
            if name not in self.SOURCE:
                self.entries[name] = [entry.spread(again, share) for entry in held]
        self.share = share

    def reorder(self, rows: Int[Tensor, "R"]) -> None:
        """Rows of one sentence stay neighbours; whole sentences may leave."""
        for entry in self._of_rows():
            entry.reorder(rows)
        sentences = rows[:: self.share] // self.share
        source = [entry for name in self.SOURCE for entry in self[name]]
        if source and not self._all_in_place(source, sentences):
            for entry in source:
                entry.reorder(sentences)

    def _of_rows(self) -> Iterator[Entry]:
        return (entry for name, held in self.entries.items() if name not in self.SOURCE for entry in held)

    @staticmethod
    def _all_in_place(source: list[Entry], sentences: Int[Tensor, "R"]) -> bool:
        count = len(source[0].tensors()[0])
        return len(sentences) == count and bool((sentences == torch.arange(count, device=sentences.device)).all())
