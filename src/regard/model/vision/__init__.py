"""Images: as a sequence of patches, or by convolution."""

from regard.model.vision.body import ImageBody
from regard.model.vision.patches import PatchEmbedding, Patches
from regard.model.vision.resnet import Resnet

__all__ = ["ImageBody", "PatchEmbedding", "Patches", "Resnet"]
