"""A few neighbours at a time: gated convolutions for sequences, a small ResNet for images."""

from regard.model.convolution.decoder import ConvolutionDecoder
from regard.model.convolution.encoder import ConvolutionEncoder
from regard.model.convolution.gated import Gated

__all__ = ["ConvolutionDecoder", "ConvolutionEncoder", "Gated"]
