"""The contract of whole models, and of those that write."""

from abc import ABC, abstractmethod

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.assembly.embedding import Embedding
from regard.model.mask import Mask
from regard.model.memory import Memory
from regard.model.stack import Decoder


class Assembly(nn.Module, ABC):
    """A whole model."""

    sequence = True
    """Whether what goes in has a length of its own."""

    @abstractmethod
    def example(self, rows: int, length: int) -> tuple[Tensor, ...]:
        """What could go in, at a given size: to see what the model costs."""


class Writer(Assembly, ABC):
    """A model that writes tokens: logits = head(states)."""

    decoder: Decoder
    target: Embedding
    head: nn.Linear

    @property
    def limit(self) -> int | None:
        """So many tokens can be taken in and written at most, or any number."""
        return self.decoder.limit

    @abstractmethod
    def start(
        self, source: Int[Tensor, "B S"] | None = None, lengths: Int[Tensor, "B"] | None = None, *, rows: int = 1
    ) -> Memory:
        """The memory before the first step: of these sources, or, where a model reads none, of so many rows."""

    def step(self, tokens: Int[Tensor, "B T"], memory: Memory) -> Float[Tensor, "B T O"]:
        """The states of a few more positions after what the memory holds; of none, none."""
        x: Tensor = self.target(tokens)
        if not tokens.shape[1]:
            return x.new_zeros(len(x), 0, self.decoder.out_width)
        states: Tensor = self.decoder(x, None, Mask(), memory)
        return states
