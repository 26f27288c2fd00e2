"""An attention of one's own beside additive attention: registered, trained, compared and drawn."""

from pathlib import Path
from typing import Annotated

import torch.nn.functional as F
from torch import Tensor

import regard
from regard.extend import Attention, Doc, Positive, Site, View, attend, weights


class Cosine(Attention):
    """Only the direction counts: the cosine between query and key, sharpened."""

    def __init__(self, site: Site, *, sharpness: Annotated[Positive, Doc("How much the best stand out.")] = 10.0):
        super().__init__(site)
        self.sharpness = sharpness

    def ask(self, queries: Tensor) -> Tensor:
        return F.normalize(queries, dim=-1)[:, None]

    def read(self, data: Tensor) -> tuple[Tensor, Tensor]:
        return F.normalize(data, dim=-1)[:, None], data[:, None]

    def weigh(self, asked: Tensor, keys: Tensor, view: View, rows: slice) -> Tensor:
        return weights(asked, keys, view, self.sharpness, rows)

    def mix(self, asked: Tensor, keys: Tensor, values: Tensor, view: View) -> Tensor:
        return attend(asked, keys, values, view, scale=self.sharpness)


regard.menu().add("attention", "cosine", Cosine)

if __name__ == "__main__":  # not where this file is loaded as a plugin
    out = Path("out/own-attention")
    small = {"data": {"upto": 999, "train": 500, "valid": 20, "test": 50}, "training.steps": 80}
    kinds = ["additive", "cosine"]
    runs = {
        kind: regard.train("numbers-gru", small, {"model.decoder.attention": kind}, out=out / kind) for kind in kinds
    }
    scores = {kind: regard.evaluate(run) for kind, run in runs.items()}
    print(scores["cosine"].beside(scores))
    scores["cosine"].draw(out / "bleu.png", scores)
    runs["cosine"].curve().draw(out / "curves.png", {kind: run.curve() for kind, run in runs.items()})
    print(regard.look(runs["cosine"], "siebenundzwanzig"))
