"""Attention, then an MLP, each with a way around it: encoders and decoders."""

from regard.model.transformer.decoder import TransformerDecoder
from regard.model.transformer.encoder import TransformerEncoder

__all__ = ["TransformerDecoder", "TransformerEncoder"]
