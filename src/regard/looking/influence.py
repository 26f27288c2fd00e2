"""Who influenced what was written, by gradients: it needs no attention, so it works for every model.

s_ij = x_j · ∂ log p(y_i) / ∂ x_j, where x_j is the vector that stands for position j [Denil et al. 2014; Shrikumar et
al. 2016]: by how much log p would fall, to first order, if x_j were taken away. Weights say where a head looked; this
says what it was good for, through everything else a model does [N2:603-605 takes the one for the other].
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.errors import InputError
from regard.looking.panel import Panel
from regard.looking.scene import Piece, Scene, Side
from regard.model.quantize import QuantizedLinear

TOKENS = 4096  # positions that are read at once: the same input over and over, a row for every output
KEPT = 2**24  # numbers that are kept for whoever asks again

Signed = dict[Side, Tensor]


@dataclass(frozen=True)
class Influence:
    """Every position of the input, on every output. Rows on demand: one costs a pass there and back."""

    scene: Scene
    _kept: dict[tuple[int, int], Signed] = field(default_factory=dict, repr=False)

    @property
    def sides(self) -> tuple[Side, ...]:
        """What can have any: the source, and what was written before."""
        return tuple(self.scene.embeddings)

    @property
    def usual(self) -> str:
        """On the source, if there is one."""
        return f"influence.{self.sides[0]}"

    def panel(self, rest: Sequence[str]) -> Panel:
        """The share that each position of a side had in each output, of all that was read: |s_ij| / Σ_j |s_ij|."""
        side = rest[0] if rest else self.sides[0]
        if side not in self.sides or len(rest) > 1:
            named = ".".join(["influence", *rest])
            there = ", ".join(f"influence.{one}" for one in self.sides)
            raise InputError(f"{named}: nothing here has this name; there are {there}")
        lines = self.scene.lines
        name = f"influence.{side}"
        title = f"influence of the {side} (gradient × input)"
        return Panel(
            name,
            title,
            lines["outputs"],
            lines[side],
            lambda start, stop: self.shares(side, start, stop),
            place=(name, None, None),
        )

    def shares(self, side: Side, start: int, stop: int) -> Float[Tensor, "t S"]:
        """Of outputs start to stop; all sides together are 1, or 0 where nothing had any influence."""
        signed = {one: self.signed(one, start, stop) for one in self.sides}
        total = torch.stack([found.abs().sum(1) for found in signed.values()]).sum(0)
        return signed[side].abs() / total.masked_fill(total == 0, 1.0)[:, None]

    def signed(self, side: Side, start: int, stop: int) -> Float[Tensor, "t S"]:
        """s_ij in nats: above 0 what made an output likelier, below 0 what spoke against it."""

        def block(number: int, low: int, high: int) -> Tensor:
            found = torch.stack([self._kept[number, row][side] for row in range(low, high)])
            before = self.scene.pieces[number].sizes[side] - found.shape[1]  # a [CLS] is no input
            return F.pad(found, (before, 0)) if before else found

        self._measure(start, stop)
        return self.scene.laid("outputs", side, start, stop, block)

    def _measure(self, start: int, stop: int) -> None:
        """What is not known yet, as many outputs of a piece at a time as fit."""
        above = 0
        for number, piece in enumerate(self.scene.pieces):
            low, high = max(start - above, 0), min(stop - above, piece.sizes["outputs"])
            wanted = [row for row in range(low, high) if (number, row) not in self._kept]
            widest = sum(piece.sizes[side] for side in self.sides)
            if wanted and len(self._kept) * widest > KEPT:
                self._kept.clear()
                wanted = list(range(low, high))
            size = max(1, TOKENS // widest)
            for first in range(0, len(wanted), size):
                rows = wanted[first : first + size]
                found = _signed(self.scene, piece, rows)
                for place, row in enumerate(rows):
                    self._kept[number, row] = {side: values[place] for side, values in found.items()}
            above += piece.sizes["outputs"]


def _signed(scene: Scene, piece: Piece, rows: Sequence[int]) -> Signed:
    """Gradients of some outputs: each has a row of the batch to itself, so that one way back serves all."""
    if any(isinstance(part, QuantizedLinear) for part in scene.model.modules()):
        raise InputError("influence needs gradients, which weights in eight bits have not; open the run without int8")
    at = torch.tensor(rows)
    with torch.inference_mode(False), torch.enable_grad(), _leaves(scene) as leaves:
        states = scene.run(piece, len(rows))[torch.arange(len(rows)), at]
        logs = scene.model.head(states).float().log_softmax(-1)
        said = logs.gather(1, piece.outputs[at.to(piece.outputs.device)][:, None]).sum()
        grads = torch.autograd.grad(said, list(leaves.values()), allow_unused=True)
    pairs = zip(leaves.items(), grads, strict=True)
    return {side: _product(leaf, grad).cpu() for (side, leaf), grad in pairs}


def _product(leaf: Tensor, grad: Tensor | None) -> Float[Tensor, "B S"]:
    return leaf.detach().sum(-1) * 0 if grad is None else (leaf.detach() * grad).sum(-1).float()


@contextmanager
def _leaves(scene: Scene) -> Iterator[dict[Side, Tensor]]:
    """The vectors that stand for positions, as they go in: gradients are taken up to them and no further."""
    leaves: dict[Side, Tensor] = {}

    def leave(side: Side) -> Any:
        def hook(_module: Any, _given: Any, out: Tensor) -> Tensor:
            leaves[side] = out.detach().requires_grad_()
            return leaves[side]

        return hook

    with ExitStack() as hooks:
        for side, part in scene.embeddings.items():
            hooks.callback(part.register_forward_hook(leave(side)).remove)
        yield leaves
