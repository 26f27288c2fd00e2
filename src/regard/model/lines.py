"""A description as people read it in a terminal: the parts as a tree, then the figures."""

from io import StringIO

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from regard.figures import count, size
from regard.model.describe import Description, Node

WIDE = 100  # columns of a description that is printed from Python


def description_text(found: Description) -> str:
    """The same lines as on the command line, in black and white."""
    console = Console(file=StringIO(), width=WIDE, color_system=None, highlight=False)
    console.print(description_lines(found), no_wrap=True)
    assert isinstance(console.file, StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().rstrip().splitlines())


def description_lines(found: Description) -> Group:
    """Name, tree and figures, for any console of rich."""
    head = Text.assemble((found.name, "bold"), f"  {found.about}\n", *([found.run, "\n"] if found.run else []))
    return Group(head, _tree(found.tree, found.tree.name), "", _figures(found))


def _tree(node: Node, name: str, branch: Tree | None = None, depth: int = 0) -> Tree:
    label = _label(node, name, depth)
    branch = Tree(label, guide_style="dim") if branch is None else branch.add(label)
    while _wraps(node):
        node = node.parts[0]
    for part, part_name in _folded(node.parts):
        _tree(part, part_name, branch, depth + 1)
    return branch


def _label(node: Node, name: str, depth: int) -> Text:
    shape = "×".join(str(step) for step in node.shape)
    kind = node.kind
    if _wraps(node) and node.parts[0].kind != kind:
        kind = f"{kind} · {node.parts[0].kind}"
    arrow = f"  → {shape}" if shape else ""
    return Text.assemble(
        (f"{name:<{34 - 4 * depth}}", "bold"), f"{count(node.parameters):>6}  ", (kind, "dim"), (arrow, "cyan")
    )


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
