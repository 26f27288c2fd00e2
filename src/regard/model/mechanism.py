"""What every mechanism can say of itself, so that nobody else needs to know it by name."""

import math

import torch
from torch import Tensor, nn


class Mechanism(nn.Module):
    """A part of a model that answers for its beginning, its ends and its own loss."""

    def initial(self) -> None:
        """Give the parameters it holds itself sound first values; its parts do so for theirs."""

    def ends(self) -> list[Tensor]:
        """The weights through which it writes into a residual stream: they begin the smaller, the deeper a model."""
        return []

    def auxiliary_loss(self) -> Tensor | None:
        """What it adds to the loss after a training pass, handed over once; most have nothing to add."""
        return None


class Block(Mechanism):
    """A layer that is always called through `forward`, so that it can be compiled or sharded as a whole.

    `adds` says whether what it writes is added to one stream that runs through all layers.
    """

    adds = False


def auxiliary_loss(model: nn.Module) -> Tensor | None:
    """What all mechanisms of a model add to the loss of the pass behind them."""
    losses = [part.auxiliary_loss() for part in model.modules() if isinstance(part, Mechanism)]
    said = [loss for loss in losses if loss is not None]
    return torch.stack(said).sum() if said else None


def glorot(weight: Tensor) -> None:
    """Uniform with variance 2 / (inputs + outputs) [Glorot & Bengio 2010]."""
    bound = math.sqrt(6 / sum(weight.shape[-2:]))
    nn.init.uniform_(weight, -bound, bound)
