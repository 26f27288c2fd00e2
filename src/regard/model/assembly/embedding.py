"""Tokens into vectors, and the head that shares their table."""

from typing import Annotated, Literal

from annotated_doc import Doc
from jaxtyping import Float, Int
from torch import Tensor, nn

Scale = Annotated[
    Literal["one", "root"],
    Doc("What embeddings are multiplied by: one, or the root of the width as in the first Transformer."),
]


class Embedding(nn.Module):
    """A vector per token; `root` multiplies by √D, as the first Transformer did."""

    def __init__(self, vocab_size: int, width: int, scale: Scale) -> None:
        super().__init__()
        self.table = nn.Embedding(vocab_size, width)
        self.scale = width**0.5 if scale == "root" else 1.0

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        embedded: Tensor = self.table(tokens)
        return embedded if self.scale == 1.0 else embedded * self.scale


def tie(head: nn.Linear, embedding: Embedding) -> None:
    """Let a head score tokens by the vectors that stand for them."""
    if head.weight.shape != embedding.table.weight.shape:
        raise ValueError(
            f"tie_embeddings: the decoder gives {head.in_features} numbers a position and embeddings have "
            f"{embedding.table.embedding_dim}; choose tie_embeddings none, or readout tanh"
        )
    head.weight = embedding.table.weight
