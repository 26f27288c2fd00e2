"""The parts of a model as they are shown, on a terminal or in a notebook."""

from dataclasses import dataclass

from regard.model.describe import Node

NAMES = {"close": "final norm", "key_value": "key and value"}
"""What parts are called where their names in the code say too little; `around_mlp` is shown as `mlp norm`."""


@dataclass(frozen=True)
class Outline:
    """One part as it is shown, with the parts that are shown below it. `shape` is that of what comes out (→ 128×384),
    or of a parameter itself (256×384)."""

    name: str
    kind: str
    parameters: int
    shape: str
    parts: list["Outline"]


def outline(node: Node, name: str = "") -> Outline:
    """A part without what says nothing new: wrappers are one with what they hold, and alike neighbours shown once."""
    kind, inner = node.kind, node
    if _wraps(node) and node.parts[0].kind != kind:
        kind = f"{kind}({node.parts[0].kind})"
    while _wraps(inner):
        inner = inner.parts[0]
    parts = [outline(part, part_name) for part, part_name in _folded(inner.parts)]
    shape = "×".join(map(str, node.shape))
    arrow = "→ " if shape and kind != "Parameter" else ""
    return Outline(_shown(name or node.name), kind, node.parameters, f"{arrow}{shape}", parts)


def _shown(name: str) -> str:
    inside = name.removeprefix("around_")
    return f"{inside} norm" if inside != name else NAMES.get(name, name)


def _wraps(node: Node) -> bool:
    """Whether a part says no more than the one part inside it."""
    only = node.parts[0] if len(node.parts) == 1 else None
    return only is not None and only.parameters == node.parameters and only.kind not in ("ModuleList", "Parameter")


def _folded(parts: list[Node]) -> list[tuple[Node, str]]:
    """Lists are opened, and neighbours that are alike are shown once: `layers 0…5`."""
    flat = [(part, part.name) for part in parts if part.kind != "ModuleList"]
    for listed in (part for part in parts if part.kind == "ModuleList"):
        flat += [(part, f"{listed.name} {name}") for part, name in _runs(listed.parts)]
    return flat


def _runs(parts: list[Node]) -> list[tuple[Node, str]]:
    runs: list[tuple[Node, str]] = []
    for part in parts:
        if runs and _alike(runs[-1][0], part):
            runs[-1] = (runs[-1][0], f"{runs[-1][0].name}…{part.name}")
        else:
            runs.append((part, part.name))
    return runs


def _alike(one: Node, other: Node) -> bool:
    return (one.kind, one.parameters, one.shape) == (other.kind, other.parameters, other.shape)
