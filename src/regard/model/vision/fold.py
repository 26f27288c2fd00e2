"""Batch norms as part of the convolutions before them: less to do where nothing is learnt any more."""

from itertools import pairwise

from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval


def fold(model: nn.Module) -> None:
    """Every batch norm that follows a convolution, in place: g (Wx - m) / s + b = (g/s W) x + (b - g m / s).

    For use, not for training: what was kept of the batches stands in the weights afterwards. Both must be evaluating.
    """
    for row in [part for part in model.modules() if isinstance(part, nn.Sequential)]:
        for (first, convolution), (second, norm) in pairwise(list(row.named_children())):
            if isinstance(convolution, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                setattr(row, first, fuse_conv_bn_eval(convolution, norm))
                setattr(row, second, nn.Identity())
