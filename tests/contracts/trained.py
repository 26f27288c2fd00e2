"""A small batch for any whole model, and what it should learn from it."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.model.assembly import ImageClassifier, ImageRestorer, LanguageModel, Seq2Seq, SequenceRegressor
from regard.model.mechanism import auxiliary_loss

from .small import tokens


def batch(model: Any) -> tuple[tuple[Tensor, ...], Tensor]:
    """What goes in, and what should come out."""
    if isinstance(model, Seq2Seq):
        target = tokens(4, 8, seed=1)
        return (tokens(4, 9), target[:, :-1], torch.tensor([9, 6, 4, 9])), target[:, 1:]
    if isinstance(model, LanguageModel):
        target = tokens(4, 12, seed=1)
        return (target[:, :-1],), target[:, 1:]
    if isinstance(model, SequenceRegressor):
        numbers = torch.randn((4, 7, model.inputs), generator=torch.Generator().manual_seed(0))
        return (numbers,), torch.tensor([0, 1, 2, 3])
    assert isinstance(model, ImageClassifier | ImageRestorer)
    size = (4, model.channels, *model.image_shape)
    pixels = torch.randn(size, generator=torch.Generator().manual_seed(0))
    if isinstance(model, ImageRestorer):  # where in each row the brightest pixel is
        return (pixels,), pixels.argmax(-1)
    return (pixels,), torch.tensor([0, 1, 2, 3])


def loss(model: Any) -> Tensor:
    inputs, wanted = batch(model)
    logits = model(*inputs)
    cost = F.cross_entropy(logits.flatten(0, -2), wanted.flatten())
    extra = auxiliary_loss(model)
    return cost if extra is None else cost + extra
