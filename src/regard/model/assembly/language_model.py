"""A decoder alone."""

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
from regard.model.stack import Decoder, DecoderSite
from regard.recipe import Part, choose


class LanguageModel(Writer):
    """A decoder alone: the next token from those before it.

    P(x) = Π_t P(x_t | x_<t) [N4:129-139; trap T1]
    """

    def __init__(
        self,
        *,
        vocab_size: VocabSize = 8000,
        width: Width = 384,
        tie_embeddings: Annotated[
            Literal["none", "output"],
            Doc("Whether the head scores tokens by their embeddings (output) or by weights of its own."),
        ] = "output",
        embedding_scale: Scale = "one",
        head_bias: HeadBias = False,
        decoder: Part[Decoder] = choose("transformer"),
    ) -> None:
        super().__init__()
        self.decoder = decoder.build(DecoderSite(width))
        self.target = Embedding(vocab_size, width, embedding_scale)
        self.head = nn.Linear(self.decoder.out_width, vocab_size, head_bias)
        initialise(self)
        if tie_embeddings == "output":
            tie(self.head, self.target)

    def example(self, rows: int, length: int) -> tuple[Tensor, ...]:
        return (torch.zeros(rows, length, dtype=torch.long),)

    def states(
        self, tokens: Int[Tensor, "B T"], mask: Mask | None = None, memory: Memory | None = None
    ) -> Float[Tensor, "B T O"]:
        """What the head turns into logits; with a memory, of positions that follow what it holds."""
        states: Tensor = self.decoder(self.target(tokens), None, mask or Mask(), memory)
        return states

    def forward(self, tokens: Int[Tensor, "B T"], mask: Mask | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the next token after each; `mask` may say lengths or packed segments."""
        logits: Tensor = self.head(self.states(tokens, mask))
        return logits

    def start(
        self, source: Int[Tensor, "B S"] | None = None, lengths: Int[Tensor, "B"] | None = None, *, rows: int = 1
    ) -> Memory:
        if source is not None:
            raise ValueError("a language model reads no source; give `rows` to start")
        return self.decoder.start(None, rows)
