"""A description as people read it in a terminal: the parts as a tree, then the figures."""

from io import StringIO

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from regard.figures import count, size
from regard.model.describe import Description
from regard.model.outline import Outline, outline

WIDE = 100  # columns of a description that is printed from Python


def description_text(found: Description) -> str:
    """The same lines as on the command line, in black and white."""
    console = Console(file=StringIO(), width=WIDE, color_system=None, highlight=False)
    console.print(description_lines(found), no_wrap=True)
    assert isinstance(console.file, StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().rstrip().splitlines())


def description_lines(found: Description) -> Group:
    """Name, tree and figures, for any console of rich."""
    said = (f"  {found.about}\n", *([found.run, "\n"] if found.run else []))
    head = Text.assemble((found.name, "bold"), *said, no_wrap=False, overflow="fold")  # prose; the tree is not
    return Group(head, _tree(outline(found.tree)), "", _figures(found))


def _tree(part: Outline, branch: Tree | None = None, depth: int = 0) -> Tree:
    shape = f"  {part.shape}" if part.shape else ""
    name = (f"{part.name:<{34 - 4 * depth}}", "bold")
    label = Text.assemble(name, f"{count(part.parameters):>6}  ", (part.kind, "dim"), (shape, "cyan"))
    branch = Tree(label, guide_style="dim") if branch is None else branch.add(label)
    for inner in part.parts:
        _tree(inner, branch, depth + 1)
    return branch


def _figures(found: Description) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(justify="right")
    for name, value in figure_rows(found):
        table.add_row(name, value)
    return table


def figure_rows(found: Description) -> list[tuple[str, str]]:
    """The figures, each with what it is about."""
    per = "token" if found.decoding else "image"
    at = f"batch {found.batch}" + (f", length {found.length}" if found.decoding else "")
    rows = [("parameters", count(found.parameters))]
    rows += [("vocabulary", found.vocabulary)] if found.vocabulary else []
    rows.append((f"forward FLOPs per {per}", count(found.flops_per_token)))
    for name, number in found.training.items():
        rows.append((f"training memory: {name}" + (f" ({at})" if name == "activations" else ""), size(number)))
    rows.append(("training memory: together", size(sum(found.training.values()))))
    if found.decoding:
        rows.append((f"decoding memory after {found.length} tokens", size(found.decoding["at_length"])))
        rows.append(("decoding memory for each more", size(found.decoding["per_token"])))
    return rows
