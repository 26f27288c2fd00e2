"""What a restorer learns: how far what it makes of a spoilt image is from what that was."""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.model.assembly import ImageRestorer
from regard.tasks.images.augmentation import Augmentation
from regard.tasks.images.batches import varied
from regard.tasks.restoration.batches import CorruptedBatch
from regard.tasks.restoration.corruption import Corruption
from regard.tasks.restoration.facts import Facts
from regard.tasks.task import Loss


def restoration_loss(
    model: ImageRestorer, batch: CorruptedBatch, facts: Facts, augmentation: Augmentation, corruption: Corruption
) -> Loss:
    """Σ over images of the mean of (restored − clean)², in deviations of the pixels.

    Varied images are spoilt; one that is only looked at is not varied, but spoilt all the same.
    """
    clean, _ = varied(batch.clean, augmentation if model.training else None)
    with torch.no_grad(), torch.autocast(clean.device.type, enabled=False):
        given, wanted = facts.scaled(corruption.corrupt(clean, batch.drawn)), facts.scaled(clean)
    found = apart(model(given).float(), wanted).sum()
    return Loss(found, found.detach())


def apart(restored: Float[Tensor, "B C Y X"], clean: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B"]:
    """The mean squared error of every image."""
    return (restored - clean).square().mean((1, 2, 3))
