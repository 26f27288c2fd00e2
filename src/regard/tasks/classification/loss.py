"""What a classifier learns from images, varied as its augmentation says."""

import torch.nn.functional as F
from jaxtyping import Float
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

    A model that does not learn sees images as they are.
    """
    pixels, share = varied(batch, augmentation if model.training else None)
    logits = model(facts.scaled(pixels)).float()
    return Loss(_cost(logits, batch, share, label_smoothing), _cost(logits.detach(), batch, share))


def _cost(
    logits: Float[Tensor, "B V"], batch: ImageBatch, share: Float[Tensor, "B"] | None, smoothing: float = 0.0
) -> Float[Tensor, ""]:
    own = F.cross_entropy(logits, batch.labels[: batch.rows], reduction="none", label_smoothing=smoothing)
    if share is None or batch.draws is None or batch.draws.partner is None:
        return own.sum()
    others = batch.labels[batch.draws.partner.to(batch.labels.device)]
    theirs = F.cross_entropy(logits, others, reduction="none", label_smoothing=smoothing)
    return (share * own + (1 - share) * theirs).sum()
