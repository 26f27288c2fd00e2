"""What a model looked at: every attention, every head, for the ids really written; weights formed when asked for.

Weights are those of the tap, exact whatever kernel runs, and for linear attention the effective ones. Rows are asked
for in blocks, so that nothing of n×n numbers for all heads is ever held. Which words influence the prediction most is
to be seen in them, the notes say [N2:603-605]; `influence` asks the same of gradients.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import InputError
from regard.looking.influence import Influence
from regard.looking.layers import Kind, Layer, counted, layers_of, title
from regard.looking.panel import Panel
from regard.looking.rollout import rollout
from regard.looking.scene import Scene
from regard.model.watch import Sight, watch

CHECKED = 64  # rows of each layer whose weights are held against the kernel


@dataclass(frozen=True)
class Look:
    """One pass of a model that was watched. `difference` is the largest between its states and those unwatched."""

    scene: Scene
    seen: Sequence[Mapping[str, Sight]]
    layers: tuple[Layer, ...]
    difference: float

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of attention there are, in the order of the pass."""
        return tuple(kind for kind in get_args(Kind) if any(layer.kind == kind for layer in self.layers))

    @cached_property
    def influence(self) -> Influence:
        """Who influenced what was written, by gradients: for models without attention, and as a second opinion."""
        return Influence(self.scene)

    def of(self, kind: str) -> list[Layer]:
        """The layers of a kind."""
        return [layer for layer in self.layers if layer.kind == kind]

    def rows(self, layer: Layer, start: int, stop: int, head: int | None = None) -> Float[Tensor, "h t S"]:
        """Weights of tokens start to stop, of one head or of all; of pieces that do not see each other, zeros."""

        def block(piece: int, low: int, high: int) -> Tensor:
            return self.seen[piece][layer.name].rows(low, high, head)[0].float()

        return self.scene.laid(layer.rows, layer.columns, start, stop, block)

    def weights(
        self, kind: str, layer: int, head: int, start: int = 0, stop: int | None = None
    ) -> Float[Tensor, "t S"]:
        """The exact weights of one head, all rows or some."""
        return self.panel(f"{kind}.{layer}.{head}").table(False, start, stop)

    def panel(self, name: str) -> Panel:
        """By its name: `cross.0.3` is a head, `cross.0` the mean of a layer, `cross` that of a kind;
        `rollout.encoder` follows a kind through its layers, `influence.source` is by gradients."""
        first, *rest = name.split(".")
        if first == "influence":
            return self.influence.panel(rest)
        if first == "rollout":
            return rollout(self, rest)
        layers = self._named(name, first, rest)
        head = int(rest[1]) if len(rest) > 1 else None
        one, most = layers[0], min(layer.most for layer in layers)

        def block(start: int, stop: int) -> Tensor:
            found = [self.rows(layer, start, stop, head).mean(0) for layer in layers]
            return found[0] if len(found) == 1 else torch.stack(found).mean(0)

        said = title(first, one.number if rest else None, head, len(layers), one.heads)
        lines = self.scene.lines
        place = (first, one.number if rest else None, head)
        return Panel(name, said, lines[one.rows], lines[one.columns], block, most, place)

    def heads(self, kind: str) -> list[Panel]:
        """Every head of a kind, layer by layer."""
        return [self.panel(f"{layer}.{head}") for layer in self.of(kind) for head in range(layer.heads)]

    @property
    def usual(self) -> str:
        """The panel that is shown unless another is asked for: the alignment of a translator, else the last kind;
        influence where there is no attention."""
        across = [kind for kind in self.kinds if kind in ("cross", "alignment")]
        return (across or list(self.kinds) or [self.influence.usual])[-1]

    @cached_property
    def mismatch(self) -> float:
        """The largest difference between what kernels gave and what the shown weights give, in rows evenly chosen."""
        worst = 0.0
        with torch.no_grad():
            for sight in (seen[layer.name] for seen in self.seen for layer in self.layers):
                rows = sum(glance.rows for glance in sight.glances)
                for row in range(0, rows, -(-rows // CHECKED)):
                    worst = max([worst, *(glance.mismatch(part) for glance, part in sight.parts(row, row + 1))])
        return worst

    def facts(self) -> dict[str, Any]:
        """What there is to look at, as JSON can hold it; no weights."""
        layers = [
            {
                "kind": layer.kind,
                "layer": layer.number,
                "name": layer.name,
                "heads": layer.heads,
                "rows": layer.rows,
                "columns": layer.columns,
            }
            for layer in self.layers
        ]
        scene = self.scene
        return {
            "read": scene.read,
            "written": scene.written,
            "sides": {name: side.facts() for name, side in scene.lines.items()},
            "pieces": [dict(piece.sizes) for piece in scene.pieces],
            "layers": layers,
            "difference": {"watched": self.difference, "weights": self.mismatch},
            "usual": self.usual,
        }

    def _named(self, name: str, kind: str, rest: Sequence[str]) -> list[Layer]:
        """The layers that a name means, or a sentence with those there are."""
        layers = self.of(kind)
        if not layers or len(rest) > 2 or not all(part.isdecimal() for part in rest):
            there = [f"{one}.0-{len(self.of(one)) - 1}.0-{self.of(one)[0].heads - 1}" for one in self.kinds]
            more = [f"influence.{side}" for side in self.influence.sides]
            raise InputError(f"{name}: nothing here has this name; there are {', '.join([*there, *more])}")
        if rest and int(rest[0]) >= len(layers):
            raise InputError(f"{name}: {kind} has {counted(len(layers), 'layer')}, counted from 0")
        chosen = layers if not rest else [layers[int(rest[0])]]
        if len(rest) > 1 and int(rest[1]) >= chosen[0].heads:
            raise InputError(f"{name}: {kind}.{rest[0]} has {counted(chosen[0].heads, 'head')}, counted from 0")
        return chosen


def gather(scene: Scene) -> Look:
    """Let a model read and write its own answer once more, twice: as fast as it can, and while it is watched."""
    seen, difference = [], 0.0
    with torch.no_grad():
        for piece in scene.pieces:
            plain = scene.run(piece)
            with watch(scene.model) as sights:
                watched = scene.run(piece)
            difference = max(difference, float((watched - plain).abs().max()))
            seen.append({name: sight for name, sight in sights.items() if sight.seen})
    return Look(scene, seen, tuple(layers_of(scene, seen[0])), difference)
