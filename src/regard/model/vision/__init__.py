"""Images: as a sequence of patches, or by convolution."""

from regard.model.vision.body import ImageBody
from regard.model.vision.embed import ConvolutionStem, PatchEmbedding
from regard.model.vision.fold import folded
from regard.model.vision.patches import Patches
from regard.model.vision.resnet import Resnet
from regard.model.vision.unet import Unet

__all__ = ["ConvolutionStem", "ImageBody", "PatchEmbedding", "Patches", "Resnet", "Unet", "folded"]
