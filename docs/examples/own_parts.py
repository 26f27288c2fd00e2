"""A data source and an optimizer of one's own, as a plugin: regard train … --plugin own_parts.py"""

from collections.abc import Iterator
from typing import Annotated, Any

import torch
from torch import nn

import regard
from regard.extend import Count, Doc, OptimizerFactory, Pair, Pairs, Positive, Split, parameters


class Doubled(Pairs):
    """Words of a few letters, and the same with every letter written twice."""

    source, target = "letters", "doubled"

    def __init__(self, *, train: Annotated[Count, Doc("Number of training pairs.")] = 400) -> None:
        self.counts: dict[Split, int] = {"train": train, "valid": 20, "test": 20}

    def read(self, split: Split) -> Iterator[Pair]:
        first = {"train": 40, "valid": 0, "test": 20}[split]
        for number in range(first, first + self.counts[split]):
            letters = ["abcdefgh"[int(digit)] for digit in f"{number:o}"]
            yield " ".join(letters), " ".join(letter + letter for letter in letters)

    def identity(self) -> list[Any]:
        return [self.counts]


class Sgd(OptimizerFactory):
    """Downhill, with momentum."""

    def __init__(self, *, learning_rate: Annotated[Positive, Doc("Length of a step at its longest.")] = 0.1) -> None:
        self.learning_rate = learning_rate

    def make(self, model: nn.Module) -> list[torch.optim.Optimizer]:
        group = {"params": parameters(model), "base_lr": self.learning_rate}
        return [torch.optim.SGD([group], self.learning_rate, momentum=0.9)]


regard.menu().add("pairs", "doubled", Doubled)
regard.menu().add("optimizer", "sgd", Sgd)
