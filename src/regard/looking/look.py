"""What a model looked at: every attention, every head, for the ids really written; weights formed when asked for.

Weights are those of the tap, exact whatever kernel runs, and for linear attention the effective ones. Rows are asked
for in blocks, so that nothing of n×n numbers for all heads is ever held. Which words influence the prediction most is
to be seen in them, the notes say [N2:603-605]; `influence` asks the same of gradients.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import InputError
from regard.listener import SILENT, Listener
from regard.looking.alignment import NoAttentionError
from regard.looking.asking import all_asking
from regard.looking.influence import Influence
from regard.looking.layers import Kind, Layer, chosen, layers_of, title
from regard.looking.letters import in_letters
from regard.looking.panel import Panel
from regard.looking.rollout import rollout
from regard.looking.scene import Scene
from regard.markup import heat
from regard.model.watch import Sight, watch

if TYPE_CHECKING:
    from regard.looking.ablation import Without
    from regard.looking.heads import Heads

LONG = 9  # figures of no number here
FEW = 2  # words of a side: merged into so few, a picture would show next to nothing
CHECKED = 64  # rows of each layer whose weights are held against the kernel


@dataclass(frozen=True, repr=False)
class Look:
    """One pass of a model that was watched. `difference` is the largest between its states and those unwatched."""

    scene: Scene
    seen: Sequence[Mapping[str, Sight]]
    layers: tuple[Layer, ...]
    difference: float
    about: Mapping[str, Any] = field(default_factory=dict)
    """Which run it is of, for those who read what was written down."""

    def __str__(self) -> str:
        """The usual panel in words."""
        return self.text(self.usual)

    @cached_property
    def words(self) -> bool:
        """Whether sub-words are merged into words unless something else is asked for: not where merging would leave a
        side of one or two words."""
        return not any(line.merged and line.text_words <= FEW for line in self.scene.lines.values())

    def text(self, view: str, words: bool | None = None, rows: str = "") -> str:
        """Panels as letters and shades, one below the other; of what is too wide for that, how large it is."""
        words = self.words if words is None else words
        if self.scene.image is not None:
            from regard.looking.overlay import overlay_text

            return overlay_text(self, view, rows)
        found = [panel.cut(rows, words) for panel in self.panels(view)]
        return "\n\n".join((f"{panel.name}\n" if len(found) > 1 else "") + in_letters(panel, words) for panel in found)

    def __repr__(self) -> str:
        return f"Look({self.scene.read!r}, {sum(layer.heads for layer in self.layers)} heads)"

    def _repr_html_(self) -> str:
        """The usual panel in a notebook."""
        if self.scene.image is not None:
            from regard.looking.overlay import grid

            rows, columns = (list(map(str, range(n))) for n in (self.scene.image.rows, self.scene.image.columns))
            return heat(columns, rows, grid(self, self.panel(self.usual)))
        return self.panel(self.usual)._repr_html_()

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
        """What the name says: printed it is a picture in letters, its `table()` are the numbers.

        `cross.0.3` is a head, `cross.0` the mean of a layer, `cross` that of a kind;
        `rollout.encoder` follows a kind through its layers, `influence.source` is by gradients.

        A recurrent decoder's attention to the source goes by `cross` too.
        """
        first, *rest = name.split(".")
        if first == "cross" and "alignment" in self.kinds:
            return self.panel(".".join(["alignment", *rest]))
        if first == "influence":
            return replace(self.influence.panel(rest), words=self.words)
        if first == "rollout":
            return replace(rollout(self, rest), words=self.words)
        layers = self._chosen(name, first, rest)
        head = int(rest[1]) if len(rest) > 1 else None
        one, most = layers[0], min(layer.most for layer in layers)

        def block(start: int, stop: int) -> Tensor:
            if head is not None:
                return self.rows(one, start, stop, head)[0]
            found = [self.rows(layer, start, stop).mean(0) for layer in layers]
            return found[0] if len(found) == 1 else torch.stack(found).mean(0)

        named = title(one.kind, one.number if rest else None, head, len(layers), one.heads)
        lines = self.scene.lines
        place = (first, one.number if rest else None, head)
        return Panel(name, named, lines[one.rows], lines[one.columns], block, most, place, self.words)

    def panels(self, view: str) -> list[Panel]:
        """What a view shows: the panel of that name, or, as `heads.cross`, every head of a kind, layer by layer."""
        kind = self.grid(view)
        if not kind:
            return [self.panel(view)]
        return [self.panel(f"{layer}.{head}") for layer in self.of(kind) for head in range(layer.heads)]

    def grid(self, view: str) -> str:
        """The kind whose heads a view shows, as `heads.cross` or `heads`; empty if it shows no such thing."""
        first, _, kind = view.partition(".")
        if first != "heads":
            return ""
        if not self.kinds:
            raise NoAttentionError(f"{view}: this model has no attention; {self.influence.usual} shows what counted")
        if kind == "cross" and "alignment" in self.kinds:
            return "alignment"
        if kind and kind not in self.kinds:
            raise InputError(f"{view}: no such kind of attention here; there are {', '.join(self.kinds)}")
        return kind or self.kinds[-1]

    def _chosen(self, name: str, kind: str, rest: Sequence[str]) -> list[Layer]:
        """The layers that a name means, or a sentence with those there are."""
        layers = self.of(kind)
        if not layers or len(rest) > 2 or not all(part.isdecimal() and len(part) < LONG for part in rest):
            there = [f"{one}.0.0" for one in self.kinds] + [f"influence.{side}" for side in self.influence.sides]
            raise InputError(f"{name}: nothing here has this name; there are {', '.join(there)} and the like")
        return chosen(name, layers, rest)

    @property
    def usual(self) -> str:
        """The panel that is shown unless another is asked for: the alignment of a translator, of an image its rollout,
        else the last kind; influence where there is no attention."""
        if self.scene.image is not None and self.kinds:
            return f"rollout.{self.kinds[-1]}"
        across: list[str] = [kind for kind in self.kinds if kind in ("cross", "alignment")]
        return [self.influence.usual, *self.kinds, *across][-1]

    def is_sink(self, kind: str) -> bool:
        """Whether the mean of all heads of self-attention puts most of its weight on the first token, in rows evenly
        chosen behind it."""
        panel = self.panel(kind)
        count = len(panel.rows)
        chosen = range(1, count, -(-count // CHECKED))
        first = [float(panel.block(row, row + 1)[0, 0]) for row in chosen]
        return sum(first) > len(first) / 2

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

    @property
    def exactly(self) -> str:
        """How exact all this is: the larger of what watching changed and of what these weights give other than the
        kernel did."""
        worst = max(self.difference, self.mismatch)
        return f"exact to {worst:.0e}" if worst else "exact to the last bit"

    def heads(self, listener: Listener = SILENT) -> "Heads":
        """Numbers about all heads: what each does here, which do the same, what becomes of the answer without it."""
        from regard.looking.heads import measure

        return measure(self, listener)

    def without(self, *names: str, again: bool = True) -> "Without":
        """The loss and the answer with heads switched off, by names as `cross.0.3`."""
        from regard.looking.ablation import without

        return without(self, names, again)

    def save(
        self,
        path: str | Path,
        view: str = "",
        *,
        words: bool | None = None,
        rows: str = "",
        listener: Listener | None = None,
    ) -> Path:
        """A view as a picture (.png, .svg, .pdf) or as exact numbers (.csv, .json), or all of it as a page (.html), by
        the ending of the name. `words` merges sub-words into words; None does so where each side has more than two."""
        from regard.looking.saving import save

        return save(self, path, view, words=words, rows=rows, listener=listener)

    def facts(self) -> dict[str, Any]:
        """What there is to look at, as JSON can hold it; no weights."""
        scene = self.scene
        image = {} if scene.image is None else {"image": scene.image.facts()}
        return (
            dict(self.about)
            | image
            | {
                "read": scene.read,
                "written": scene.written,
                "sides": {name: side.facts() for name, side in scene.lines.items()},
                "pieces": [dict(piece.sizes) for piece in scene.pieces],
                "layers": [layer.facts() for layer in self.layers],
                "difference": {"watched": self.difference, "weights": self.mismatch},
                "usual": self.usual,
            }
        )


def gather(scene: Scene, about: Mapping[str, Any] | None = None) -> Look:
    """Let a model read and write its own answer once more, twice: as fast as it can, and while it is watched."""
    seen, difference = [], 0.0
    with torch.no_grad():
        for piece in scene.pieces:
            plain = scene.run(piece)
            with watch(scene.model) as sights, all_asking(scene.model):
                watched = scene.run(piece)
            difference = max(difference, float((watched - plain).abs().max()))
            seen.append({name: sight for name, sight in sights.items() if sight.seen})
    return Look(scene, seen, tuple(layers_of(scene, seen[0])), difference, about or {})
