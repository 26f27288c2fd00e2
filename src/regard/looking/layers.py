"""The attentions of a model that was watched: their kinds, their numbers, who looks at whom, and their names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from regard.errors import InputError
from regard.looking.scene import Scene, Side
from regard.model.recurrent import RecurrentDecoder
from regard.model.watch import Sight

Kind = Literal["encoder", "masked", "cross", "alignment"]
"""Positions of the source look at each other; those written at those before; those written at the source, in every
layer, or, in a recurrent decoder, once a step."""

TITLES: dict[Kind, str] = {
    "encoder": "encoder self-attention",
    "masked": "causal self-attention",
    "cross": "cross-attention",
    "alignment": "alignment",
}
MEMORY = 2**26  # numbers that a block of rows may need while its weights are formed
SIDES: dict[Kind, tuple[Side, Side]] = {
    "encoder": ("source", "source"),
    "masked": ("inputs", "inputs"),
    "cross": ("outputs", "source"),
    "alignment": ("outputs", "source"),
}


@dataclass(frozen=True)
class Layer:
    """One attention of a model: its kind, its number among those of the kind, its heads, and who looks at whom."""

    kind: Kind
    number: int
    name: str
    heads: int
    rows: Side
    columns: Side
    most: int
    """Rows of weights that can be formed at once without needing much memory."""

    def __str__(self) -> str:
        return f"{self.kind}.{self.number}"

    def facts(self) -> dict[str, object]:
        """As JSON can hold it."""
        who: dict[str, object] = {"kind": self.kind, "layer": self.number, "name": self.name, "heads": self.heads}
        return who | {"rows": self.rows, "columns": self.columns}


def layers_of(scene: Scene, seen: Mapping[str, Sight]) -> list[Layer]:
    """All that was seen, numbered by its kind."""
    counts: dict[Kind, int] = dict.fromkeys(get_args(Kind), 0)
    found = []
    for name, sight in seen.items():
        kind = _kind(scene, name, sight)
        rows, columns = SIDES[kind]
        asked = sight.glances[0].asked
        most = max(1, MEMORY // max(1, len(scene.lines[columns]) * asked.shape[1] * asked.shape[3]))
        found.append(Layer(kind, counts[kind], name, asked.shape[1], rows, columns, most))
        counts[kind] += 1
    return found


def _kind(scene: Scene, name: str, sight: Sight) -> Kind:
    if sight.glances[0].across:
        return "alignment" if isinstance(scene.model.decoder, RecurrentDecoder) else "cross"
    return "masked" if "inputs" in scene.lines and name.startswith("decoder") else "encoder"


def chosen(name: str, layers: Sequence[Layer], rest: Sequence[str]) -> list[Layer]:
    """All layers of a kind, or the one whose number is said; a head that is said must be there."""
    kind = layers[0].kind
    if rest and int(rest[0]) >= len(layers):
        raise InputError(f"{name}: {kind} has {_counted(len(layers), 'layer')}, counted from 0")
    found = [layers[int(rest[0])]] if rest else list(layers)
    if len(rest) > 1 and int(rest[1]) >= found[0].heads:
        raise InputError(f"{name}: {found[0]} has {_counted(found[0].heads, 'head')}, counted from 0")
    return found


def title(kind: Kind, layer: int | None, head: int | None, layers: int, heads: int) -> str:
    """What a panel is, in words."""
    named = TITLES[kind]
    if head is not None and layer is not None:
        return f"{named}, layer {layer}, head {head}"
    if layer is not None:
        return f"{named}, layer {layer}" + (f", mean of {heads} heads" if heads > 1 else "")
    many = f"{layers} layers" + (f" × {heads} heads" if heads > 1 else "")
    return f"{named}, mean of {many}" if layers * heads > 1 else named


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
