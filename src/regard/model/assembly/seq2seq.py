"""An encoder and a decoder."""

from typing import Annotated, Literal

import torch
from annotated_doc import Doc
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.assembly.assembly import Writer
from regard.model.assembly.embedding import Embedding, Scale, tie
from regard.model.initial import initialise
from regard.model.mask import Mask
from regard.model.memory import Memory
from regard.model.options import HeadBias, VocabSize, Width
from regard.model.stack import Decoder, DecoderSite, Encoded, Encoder, Source
from regard.recipe import Part


class Seq2Seq(Writer):
    """An encoder reads a source, a decoder of any kind writes a target.

    P(y|x) = Π_t P(y_t | y_<t, x) [N2:21-69, N4:7-69]
    """

    def __init__(
        self,
        *,
        source_vocab_size: VocabSize = 8000,
        target_vocab_size: VocabSize = 8000,
        width: Width = 256,
        tie_embeddings: Annotated[
            Literal["none", "output", "all"],
            Doc("Which tables are one: none; the head and the target's embeddings (output); the source's too (all)."),
        ] = "none",
        embedding_scale: Scale = "one",
        head_bias: HeadBias = True,
        encoder: Part[Encoder],
        decoder: Part[Decoder],
    ) -> None:
        super().__init__()
        self.encoder = encoder.build(width)
        self.decoder = decoder.build(DecoderSite(width, Source(width, self.encoder.final)))
        self.source = Embedding(source_vocab_size, width, embedding_scale)
        self.target = Embedding(target_vocab_size, width, embedding_scale)
        self.head = nn.Linear(self.decoder.out_width, target_vocab_size, head_bias)
        initialise(self)
        if tie_embeddings != "none":
            tie(self.head, self.target)
        if tie_embeddings == "all":
            if source_vocab_size != target_vocab_size:
                raise ValueError("tie_embeddings: `all` needs one vocabulary for both sides; they differ in size")
            self.source.table = self.target.table

    def example(self, rows: int, length: int) -> tuple[Tensor, ...]:
        tokens = torch.zeros(rows, length, dtype=torch.long)
        return tokens, tokens

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

    def start(
        self, source: Int[Tensor, "B S"] | None = None, lengths: Int[Tensor, "B"] | None = None, *, rows: int = 1
    ) -> Memory:
        if source is None:
            raise ValueError("this model reads a source before it writes; give one to start")
        return self.decoder.start(self.encode(source, lengths), len(source))
