"""Batch norms as part of the convolutions before them: less to do where nothing is learnt any more."""

from copy import copy
from itertools import pairwise
from typing import TypeVar

from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from regard.model.mode import evaluating

M = TypeVar("M", bound=nn.Module)


def folded(model: M) -> M:
    """The same model for use, not for training: g (Wx - m) / s + b = (g/s W) x + (b - g m / s).

    What was kept of the batches stands in the weights of the convolutions, which are new; all else is shared with the
    model, which stays as it is. A model without batch norms is given back itself.
    """
    with evaluating(model):
        return _folded(model)


def _folded(part: M) -> M:
    if not any(isinstance(one, nn.BatchNorm2d) for one in part.modules()) or isinstance(part, nn.BatchNorm2d):
        return part
    made = copy(part)
    made._modules = {name: child if child is None else _folded(child) for name, child in part._modules.items()}
    if isinstance(made, nn.Sequential):
        for (first, convolution), (second, norm) in pairwise(list(made.named_children())):
            if isinstance(convolution, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                setattr(made, first, fuse_conv_bn_eval(convolution, norm))
                setattr(made, second, nn.Identity())
    return made
