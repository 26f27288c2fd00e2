"""What a classifier learns from images, varied as its augmentation says."""

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.assembly import ImageClassifier
from regard.tasks.classification.facts import Facts
from regard.tasks.images.augmentation import Augmentation
from regard.tasks.images.batches import ImageBatch, varied
from regard.tasks.task import Loss


def classification_loss(
    model: ImageClassifier, batch: ImageBatch, facts: Facts, augmentation: Augmentation, label_smoothing: float = 0.0
) -> Loss:
    """Σ −log p of the class of every image; where two are mixed, of both, each by its share.

    An image that is only looked at is not varied.
    """
    labels = batch.labels[: batch.rows]
    if batch.draws is None or not model.training:
        logits = model(facts.normalised(batch.images[: batch.rows])).float()
        return Loss(_costs(logits, labels, label_smoothing).sum(), _costs(logits.detach(), labels).sum())
    pixels, share = varied(batch, augmentation)
    logits = model(facts.scaled(pixels)).float()
    partner = batch.draws.partner
    if partner is None:
        return Loss(_costs(logits, labels, label_smoothing).sum(), _costs(logits.detach(), labels).sum())
    others = batch.labels[partner.to(batch.labels.device)]
    total, plain = (
        share * _costs(scores, labels, smoothing) + (1 - share) * _costs(scores, others, smoothing)
        for scores, smoothing in ((logits, label_smoothing), (logits.detach(), 0.0))
    )
    return Loss(total.sum(), plain.sum())


def _costs(logits: Float[Tensor, "B V"], labels: Int[Tensor, "B"], smoothing: float = 0.0) -> Float[Tensor, "B"]:
    return F.cross_entropy(logits, labels, reduction="none", label_smoothing=smoothing)
