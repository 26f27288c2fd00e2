"""Recurrent encoders beside torch.nn: `python benchmarks/recurrent_beside_torch.py`."""

import time
from statistics import median

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.allocator import keep_memory
from regard.model.initial import initialise
from regard.model.mask import Mask
from regard.model.menu import MENU


def main(rows: int = 32, length: int = 128, width: int = 512, rounds: int = 9) -> None:
    """Forward and backward of two layers, all in turn: whole rows, and rows of different lengths."""
    keep_memory()
    x, lengths = torch.randn(rows, length, width), torch.randint(length - 18, length + 1, (rows,))
    for kind, peer in (("elman", nn.RNN), ("gru", nn.GRU), ("lstm", nn.LSTM)):
        part = {"kind": "recurrent", "cell": kind, "layers": 2, "direction": "forward"}
        ours, theirs = MENU.order("encoder", part, "encoder").build(width), peer(width, width, 2, batch_first=True)
        initialise(ours)

        def packed(theirs: nn.Module = theirs) -> torch.Tensor:
            sequences = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            return pad_packed_sequence(theirs(sequences)[0], batch_first=True)[0]

        works = {
            "regard": lambda ours=ours: ours(x, Mask()).states,
            "torch": lambda theirs=theirs: theirs(x)[0],
            "regard, ragged": lambda ours=ours: ours(x, Mask(key_lengths=lengths)).states,
            "torch, packed": packed,
        }
        taken: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(rounds + 1):
            for name, work in works.items():
                start = time.perf_counter()
                work().sum().backward()
                taken[name].append(time.perf_counter() - start)
        print(kind, {name: f"{1e3 * median(times[1:]):.0f} ms" for name, times in taken.items()})


if __name__ == "__main__":
    main()
