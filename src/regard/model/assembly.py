"""Whole models: from ids or pixels to logits. Loss, score and answer belong to the task."""

from abc import ABC, abstractmethod
from typing import Literal

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.initial import initialise
from regard.model.mask import Mask
from regard.model.memory import Memory
from regard.model.stack import Decoder, Encoded, Encoder, Source
from regard.model.vision import ImageBody
from regard.recipe import Count, Part, choose

Scale = Literal["one", "root"]


class Assembly(nn.Module, ABC):
    """A whole model."""


class Writer(Assembly, ABC):
    """A model that writes tokens: logits = head(states)."""

    head: nn.Linear

    @abstractmethod
    def step(self, tokens: Int[Tensor, "B T"], memory: Memory) -> Float[Tensor, "B T O"]:
        """The states of a few more positions after what the memory holds."""


class Embedding(nn.Module):
    """A vector per token; `root` multiplies by √D, as the first Transformer did."""

    def __init__(self, vocab_size: int, width: int, scale: Scale) -> None:
        super().__init__()
        self.table = nn.Embedding(vocab_size, width)
        self.scale = width**0.5 if scale == "root" else 1.0

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        embedded: Tensor = self.table(tokens)
        return embedded if self.scale == 1.0 else embedded * self.scale


class Seq2Seq(Writer):
    """An encoder reads a source, a decoder of any kind writes a target.

    P(y|x) = Π_t P(y_t | y_<t, x) [N2:21-69, N4:7-69]
    """

    def __init__(
        self,
        *,
        source_vocab_size: Count = 8000,
        target_vocab_size: Count = 8000,
        width: Count = 256,
        tie_embeddings: Literal["none", "output", "all"] = "none",
        embedding_scale: Scale = "one",
        head_bias: bool = True,
        encoder: Part[Encoder],
        decoder: Part[Decoder],
    ) -> None:
        super().__init__()
        self.encoder = encoder.build(width)
        self.decoder = decoder.build(width, Source(width, self.encoder.final))
        self.source = Embedding(source_vocab_size, width, embedding_scale)
        self.target = Embedding(target_vocab_size, width, embedding_scale)
        self.head = nn.Linear(self.decoder.out_width, target_vocab_size, head_bias)
        initialise(self)
        if tie_embeddings != "none":
            _tie(self.head, self.target)
        if tie_embeddings == "all":
            if source_vocab_size != target_vocab_size:
                raise ValueError("tie_embeddings: `all` needs one vocabulary for both sides; they differ in size")
            self.source.table = self.target.table

    def encode(self, source: Int[Tensor, "B S"], lengths: Int[Tensor, "B"] | None = None) -> Encoded:
        encoded: Encoded = self.encoder(self.source(source), Mask(key_lengths=lengths))
        return encoded

    def states(
        self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"], lengths: Int[Tensor, "B"] | None = None
    ) -> Float[Tensor, "B T O"]:
        """What the head turns into logits, for those who do not want all logits at once."""
        states: Tensor = self.decoder(self.target(target), self.encode(source, lengths), Mask())
        return states

    def forward(
        self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"], lengths: Int[Tensor, "B"] | None = None
    ) -> Float[Tensor, "B T V"]:
        """Logits of the next token after each of the target's, all at once."""
        logits: Tensor = self.head(self.states(source, target, lengths))
        return logits

    def start(self, source: Int[Tensor, "B S"], lengths: Int[Tensor, "B"] | None = None) -> Memory:
        return self.decoder.start(self.encode(source, lengths), len(source))

    def step(self, tokens: Int[Tensor, "B T"], memory: Memory) -> Float[Tensor, "B T O"]:
        states: Tensor = self.decoder(self.target(tokens), None, Mask(), memory)
        return states


class LanguageModel(Writer):
    """A decoder alone: the next token from those before it.

    P(x) = Π_t P(x_t | x_<t) [N4:129-139; trap T1]
    """

    def __init__(
        self,
        *,
        vocab_size: Count = 8000,
        width: Count = 384,
        tie_embeddings: Literal["none", "output"] = "output",
        embedding_scale: Scale = "one",
        head_bias: bool = False,
        decoder: Part[Decoder] = choose("transformer"),
    ) -> None:
        super().__init__()
        self.decoder = decoder.build(width, None)
        self.target = Embedding(vocab_size, width, embedding_scale)
        self.head = nn.Linear(self.decoder.out_width, vocab_size, head_bias)
        initialise(self)
        if tie_embeddings == "output":
            _tie(self.head, self.target)

    def states(self, tokens: Int[Tensor, "B T"], mask: Mask | None = None) -> Float[Tensor, "B T O"]:
        states: Tensor = self.decoder(self.target(tokens), None, mask or Mask())
        return states

    def forward(self, tokens: Int[Tensor, "B T"], mask: Mask | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the next token after each; `mask` may say lengths or packed segments."""
        logits: Tensor = self.head(self.states(tokens, mask))
        return logits

    def start(self, rows: int) -> Memory:
        return self.decoder.start(None, rows)

    def step(self, tokens: Int[Tensor, "B T"], memory: Memory) -> Float[Tensor, "B T O"]:
        states: Tensor = self.decoder(self.target(tokens), None, Mask(), memory)
        return states


class ImageClassifier(Assembly):
    """One vector per image, and a class from it [N0:155-189]."""

    def __init__(
        self, *, classes: Count = 10, channels: Count = 3, size: Count = 224, body: Part[ImageBody] = choose("patches")
    ) -> None:
        super().__init__()
        self.channels, self.size = channels, size
        self.body = body.build(channels, size)
        self.head = nn.Linear(self.body.out_width, classes)
        initialise(self)

    def forward(self, pixels: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B V"]:
        logits: Tensor = self.head(self.body(pixels))
        return logits


def log_likelihood(logits: Float[Tensor, "B T V"], tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B"]:
    """log P of whole sequences: Σ_t log P(x_t | x_<t)."""
    return -F.cross_entropy(logits.mT, tokens, reduction="none").sum(-1)


def _tie(head: nn.Linear, embedding: Embedding) -> None:
    if head.weight.shape != embedding.table.weight.shape:
        raise ValueError(
            f"tie_embeddings: the decoder gives {head.in_features} numbers a position and embeddings have "
            f"{embedding.table.embedding_dim}; choose tie_embeddings none, or readout tanh"
        )
    head.weight = embedding.table.weight
