"""A description as a notebook shows it: the parts to be opened and closed, and the figures."""

from regard.figures import count
from regard.markup import block, said, table
from regard.model.describe import Description
from regard.model.lines import figure_rows
from regard.model.outline import Outline, outline

OPEN = 2  # levels that are open at first


def description_html(found: Description) -> str:
    """A model in figures; parts are opened and closed by a click."""
    return block(
        f"<b>{said(found.name)}</b> {said(found.about)}",
        said(found.run),
        _details(outline(found.tree)),
        table(("", " "), figure_rows(found)),
    )


def _details(part: Outline, depth: int = 0) -> str:
    shape = f" {part.shape}" if part.shape else ""
    line = f"<b>{said(part.name)}</b> {count(part.parameters)} <i>{said(part.kind)}</i>{said(shape)}"
    if not part.parts:
        return f'<div style="margin-left:1em">{line}</div>'
    inner = "".join(_details(one, depth + 1) for one in part.parts)
    opened = " open" if depth < OPEN else ""
    return f'<details style="margin-left:1em"{opened}><summary>{line}</summary>{inner}</details>'
