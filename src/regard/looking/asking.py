"""Who looks while a model is watched: everybody, also those whose answer nobody reads."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from regard.model.transformer import TransformerEncoder


@contextmanager
def all_asking(model: nn.Module) -> Iterator[None]:
    """Let every position look in every layer.

    Of the last layer of a Vision Transformer only [CLS] is read, so patches are spared there; what they would look at
    is asked for all the same.
    """
    spared = [part for part in model.modules() if isinstance(part, TransformerEncoder) and part.read is not None]
    before = [part.read for part in spared]
    for part in spared:
        part.read = None
    try:
        yield
    finally:
        for part, read in zip(spared, before, strict=True):
            part.read = read
