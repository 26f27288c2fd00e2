"""One step after another: Elman, LSTM and GRU, and the encoders and decoders made of them."""

from regard.model.recurrent.cells import Cell, Elman, Gru, Lstm
from regard.model.recurrent.decoder import RecurrentDecoder
from regard.model.recurrent.encoder import RecurrentEncoder

__all__ = ["Cell", "Elman", "Gru", "Lstm", "RecurrentDecoder", "RecurrentEncoder"]
