"""What is measured, in plain numbers: models, sentences, and how much of them makes one turn."""

from collections.abc import Sequence
from dataclasses import dataclass

Ids = list[int]


@dataclass(frozen=True)
class IdPairs:
    """Sentence pairs as ids of one joint vocabulary, without bos and eos."""

    pairs: Sequence[tuple[Ids, Ids]]
    vocab_size: int
    pad: int
    bos: int
    eos: int

    @property
    def longest(self) -> int:
        """In ids of either side, with its eos."""
        return max(max(map(len, pair)) + 1 for pair in self.pairs)


@dataclass(frozen=True)
class TransformerShape:
    """A Transformer with tied embeddings and sinusoidal positions; `layers` on each side."""

    layers: int = 3
    heads: int = 4
    width: int = 256
    hidden: int = 1024


@dataclass(frozen=True)
class GptShape:
    """A GPT and its batch."""

    layers: int = 6
    heads: int = 6
    width: int = 384
    length: int = 256
    batch: int = 16
    vocab_size: int = 65


@dataclass(frozen=True)
class TrainingWork:
    """One turn: so many steps, each on rows × max(source, target) tokens at most."""

    steps: int = 8
    tokens: int = 4096
    seed: int = 1


@dataclass(frozen=True)
class DecodingWork:
    """One turn: all sources, so many rows at once; a beam of 1 is greedy.

    With `least` = `most` every answer has that many tokens, whatever the weights.
    """

    beam: int = 5
    least: int = 20
    most: int = 20
    rows: int = 64
