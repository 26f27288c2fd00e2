"""A description as a notebook shows it: the parts to be opened and closed, and the figures."""

from itertools import groupby

from regard.markup import block, said, table
from regard.model.describe import Description, Node
from regard.model.lines import figure_rows

OPEN = 2  # levels that are open at first


def description_html(found: Description) -> str:
    """A model in figures."""
    return block(
        f"<b>{said(found.name)}</b> {said(found.about)}",
        said(found.run),
        _tree(found.tree, found.tree.name),
        table(("", " "), figure_rows(found)),
    )


def _tree(node: Node, name: str, depth: int = 0) -> str:
    shape = f" → {'×'.join(map(str, node.shape))}" if node.shape else ""
    line = f"<b>{said(name)}</b> {node.parameters:,} <i>{said(node.kind)}</i>{said(shape)}"
    if not node.parts:
        return f'<div style="margin-left:1em">{line}</div>'
    inner = "".join(_tree(part, part_name, depth + 1) for part, part_name in _folded(node))
    opened = " open" if depth < OPEN else ""
    return f'<details style="margin-left:1em"{opened}><summary>{line}</summary>{inner}</details>'


def _folded(node: Node) -> list[tuple[Node, str]]:
    """Neighbours that are alike are shown once: `0…5`."""
    found = []
    for _, alike in groupby(node.parts, key=lambda part: (part.kind, part.parameters, part.shape, len(part.parts))):
        parts = list(alike)
        if len(parts) > 1 and parts[0].name.isdigit():
            found.append((parts[0], f"{parts[0].name}…{parts[-1].name}"))
        else:
            found += [(part, part.name) for part in parts]
    return found
