"""What a task hands over to be looked at: what was read, what was written, and how to let the model do it once more."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.looking.line import Line
from regard.looking.seen_image import SeenImage
from regard.model.mode import evaluating

Side = Literal["source", "inputs", "outputs"]
"""What an encoder reads; what a decoder reads, token by token; what it wrote at each of these steps."""

LOGITS = 2**23  # at a time: 32 MiB


@dataclass(frozen=True)
class Piece:
    """What a model reads at once: what goes in, a row of one, what came out, and how many positions each side has."""

    inputs: tuple[Tensor, ...]
    outputs: Int[Tensor, "t"]
    sizes: Mapping[Side, int]

    def many(self, rows: int) -> tuple[Tensor, ...]:
        """The same input several times over, as rows of a batch."""
        return tuple(given.expand(rows, *given.shape[1:]) for given in self.inputs)


@dataclass(frozen=True)
class Scene:
    """One input of a trained model, in one piece or several that do not see each other, for the ids really written.

    `states` lets the model read a batch and gives what its head turns into logits. `embeddings` are the parts whose
    outputs stand for the positions of a side: influence is measured there. `again` lets it answer anew, as it is now.
    """

    model: Any
    lines: Mapping[Side, Line]
    pieces: Sequence[Piece]
    states: Callable[..., Tensor]
    embeddings: Mapping[Side, nn.Module]
    read: str
    written: str
    again: Callable[[], str] | None = None
    names: Callable[[Sequence[int]], list[str]] | None = None
    """What the tokens are called that can be written."""
    retold: "Callable[[Sequence[int], int], Scene] | None" = None
    """The same with a beginning that somebody chose: ids that were written, and how many more the model may write."""
    image: SeenImage | None = None
    """What was read, if it is an image: `source` are then its patches, and `outputs` its class."""

    def named(self, ids: Sequence[int]) -> list[str]:
        """Tokens by their names, or by their numbers."""
        return [str(one) for one in ids] if self.names is None else self.names(ids)

    def laid(
        self, rows: Side, columns: Side, start: int, stop: int, block: Callable[[int, int, int], Tensor]
    ) -> Float[Tensor, "*h t S"]:
        """Rows start to stop of all pieces: `block` gives those of one piece, and no piece sees another."""
        blocks, above, left = [], 0, 0
        whole = len(self.lines[columns])
        for number, piece in enumerate(self.pieces):
            low, high = max(start - above, 0), min(stop - above, piece.sizes[rows])
            if low < high:
                found = block(number, low, high)
                beside = (left, whole - left - found.shape[-1])
                blocks.append(F.pad(found, beside) if any(beside) else found)
            above, left = above + piece.sizes[rows], left + piece.sizes[columns]
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks, -2)

    def run(self, piece: Piece, rows: int = 1) -> Float[Tensor, "B T O"]:
        """One pass, as the model answers."""
        with evaluating(self.model):
            found: Tensor = self.states(*piece.many(rows))
        return found

    def log_probs(self, piece: Piece, states: Float[Tensor, "B T O"]) -> Float[Tensor, "B t"]:
        """log p of what was written; never more logits at a time than fit."""
        wanted = piece.outputs.expand(len(states), -1)
        size = max(1, LOGITS // (int(self.model.head.out_features) * len(states)))
        parts = zip(states[:, : wanted.shape[1]].split(size, 1), wanted.split(size, 1), strict=True)
        found = [self.model.head(some).float().log_softmax(-1).gather(2, ids[..., None])[..., 0] for some, ids in parts]
        return torch.cat(found, 1) if found else states.new_zeros(len(states), 0)

    def likeliest(self, piece: Piece, states: Float[Tensor, "B T O"]) -> Int[Tensor, "B t"]:
        """What the model would write at every step by itself, given the same beginning."""
        size = max(1, LOGITS // (int(self.model.head.out_features) * len(states)))
        parts = states[:, : len(piece.outputs)].split(size, 1)
        return torch.cat([self.model.head(some).argmax(-1) for some in parts], 1)

    def costs(self) -> list[float]:
        """−log p of everything that was written, in nats."""
        with torch.no_grad():
            found = [-self.log_probs(piece, self.run(piece))[0] for piece in self.pieces]
        return [float(cost) for part in found for cost in part]
