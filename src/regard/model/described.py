"""A description as people see it, on a terminal, in a notebook, printed: the parts of a model, and its figures."""

from collections.abc import Iterator
from dataclasses import dataclass

from regard.figures import count, size, text_table
from regard.markup import block, said, table
from regard.model.describe import Description, Node

OPEN = 2  # levels that are open at first in a notebook
WIDE = 34  # cells for the names of parts


@dataclass(frozen=True)
class Outline:
    """One part as it is shown, with the parts that are shown below it."""

    name: str
    kind: str
    parameters: int
    shape: str
    parts: list["Outline"]

    @property
    def figures(self) -> str:
        """What stands behind the name: parameters, kind and shape."""
        return f"{count(self.parameters):>6}  {self.kind}" + (f"  → {self.shape}" if self.shape else "")


def outline(node: Node, name: str = "") -> Outline:
    """A part without what says nothing new: wrappers are one with what they hold, and alike neighbours shown once."""
    kind, inner = node.kind, node
    if _wraps(node) and node.parts[0].kind != kind:
        kind = f"{kind} · {node.parts[0].kind}"
    while _wraps(inner):
        inner = inner.parts[0]
    parts = [outline(part, part_name) for part, part_name in _folded(inner.parts)]
    return Outline(name or node.name, kind, node.parameters, "×".join(map(str, node.shape)), parts)


def figures(found: Description) -> list[tuple[str, str]]:
    """What a model costs: a name and a figure each."""
    per = "token" if found.decoding else "image"
    at = f" (batch {found.batch}" + (f", length {found.length})" if found.decoding else ")")
    rows = [("parameters", count(found.parameters)), (f"forward FLOPs per {per}", count(found.flops_per_token))]
    for name, held in found.training.items():
        rows.append((f"training memory: {name}{at if name == 'activations' else ''}", size(held)))
    rows.append(("training memory: together", size(sum(found.training.values()))))
    if found.decoding:
        rows.append((f"decoding memory after {found.length} tokens", size(found.decoding["at_length"])))
        rows.append(("decoding memory for each more", size(found.decoding["per_token"])))
    return rows


def description_text(found: Description) -> str:
    """All of it as plain text: what the command shows, without its colours."""
    head = f"{found.name}  {found.about}".rstrip()
    return "\n\n".join([head, "\n".join(_lines(outline(found.tree))), text_table(("", " "), figures(found))])


def description_html(found: Description) -> str:
    """All of it for a notebook: parts are opened and closed by a click."""
    head = f"<b>{said(found.name)}</b> {said(found.about)}"
    return block(head, _details(outline(found.tree)), table(("", " "), figures(found)))


def _lines(part: Outline, before: str = "", below: str = "") -> Iterator[str]:
    yield f"{before}{part.name}".ljust(WIDE) + part.figures
    for number, inner in enumerate(part.parts, 1):
        last = number == len(part.parts)
        yield from _lines(inner, below + ("└── " if last else "├── "), below + ("    " if last else "│   "))


def _details(part: Outline, depth: int = 0) -> str:
    shape = f" → {part.shape}" if part.shape else ""
    line = f"<b>{said(part.name)}</b> {count(part.parameters)} <i>{said(part.kind)}</i>{said(shape)}"
    if not part.parts:
        return f'<div style="margin-left:1em">{line}</div>'
    inner = "".join(_details(one, depth + 1) for one in part.parts)
    opened = " open" if depth < OPEN else ""
    return f'<details style="margin-left:1em"{opened}><summary>{line}</summary>{inner}</details>'


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
