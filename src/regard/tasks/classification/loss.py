"""What a classifier learns from images, varied as its augmentation says."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.model.assembly import ImageClassifier
from regard.tasks.classification.augmentation import Augmentation
from regard.tasks.classification.batches import ImageBatch
from regard.tasks.classification.facts import Facts
from regard.tasks.task import Loss


def classification_loss(
    model: ImageClassifier, batch: ImageBatch, facts: Facts, augmentation: Augmentation, label_smoothing: float = 0.0
) -> Loss:
    """Σ −log p of the class of every image; where two are mixed, of both, each by its share.

    A model that does not learn sees images as they are.
    """
    share = None
    if batch.draws is None or not model.training:
        inputs = facts.normalised(batch.images[: batch.rows])
    else:  # pixels are numbers of their own precision, whatever the model computes in
        with torch.no_grad(), torch.autocast(batch.images.device.type, enabled=False):
            pixels, share = _varied(batch, augmentation)
            inputs = facts.scaled(pixels)
    logits = model(inputs).float()
    return Loss(_cost(logits, batch, share, label_smoothing), _cost(logits.detach(), batch, share))


def _varied(
    batch: ImageBatch, augmentation: Augmentation
) -> tuple[Float[Tensor, "B C Y X"], Float[Tensor, "B"] | None]:
    """The images to learn from, between 0 and 1, and how much of each is its own where they are mixed."""
    assert batch.draws is not None
    pixels = augmentation.vary(batch.images.float() / 255, batch.draws.each)
    own, partner = pixels[: batch.rows], batch.draws.partner
    if partner is None:
        return own, None
    drawn = {name: drawn[: batch.rows] for name, drawn in batch.draws.each.items()}
    return augmentation.mix(own, pixels[partner.to(pixels.device)], drawn)


def _cost(
    logits: Float[Tensor, "B V"], batch: ImageBatch, share: Float[Tensor, "B"] | None, smoothing: float = 0.0
) -> Float[Tensor, ""]:
    own = F.cross_entropy(logits, batch.labels[: batch.rows], reduction="none", label_smoothing=smoothing)
    if share is None or batch.draws is None or batch.draws.partner is None:
        return own.sum()
    others = batch.labels[batch.draws.partner.to(batch.labels.device)]
    theirs = F.cross_entropy(logits, others, reduction="none", label_smoothing=smoothing)
    return (share * own + (1 - share) * theirs).sum()
