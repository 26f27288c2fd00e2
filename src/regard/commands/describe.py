"""regard describe: a model in figures."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from rich.tree import Tree

from regard.commands.completing import keys, recipes
from regard.commands.show import as_json, columns, console, count, line, size
from regard.commands.shown import Shown

if TYPE_CHECKING:
    from regard.model.describe import Description, Node


def describe(
    recipe: Annotated[str, typer.Argument(help="A recipe's name or file, or a run folder.", autocompletion=recipes)],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="[a.b=c]…", help="Keys to set.", autocompletion=keys)
    ] = None,
    length: Annotated[int, typer.Option(min=1, help="Tokens in a sequence.")] = 128,
    batch: Annotated[int, typer.Option(min=1, help="Sequences in a training batch.")] = 16,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Show the parts of a model, their shapes and parameters, and what it costs."""
    from regard.model.describe import describe as described
    from regard.recipe.read import is_run

    run = _run(recipe) if is_run(recipe) else {}  # first: what is wrong with a run is not said of its keys
    found = described(recipe, *(overrides or ()), length=length, batch=batch)
    if json:
        return as_json(asdict(found) | ({"run": run} if run else {}))
    console.print(Text.assemble((found.name, "bold"), f"  {found.about}\n"))
    if run:
        scores = "  ".join(f"{name} {value:.4g}" for name, value in run["scores"].items())
        line("a run for ", (str(run["task"]), "bold"), f", best at step {run['step']:,}  {scores}\n")
    console.print(_tree(found.tree, found.tree.name), no_wrap=True)
    console.print()
    _figures(found)
    return None


def _run(folder: str) -> dict[str, Any]:
    """What a run folder says about itself."""
    from regard.run import Run

    run = Run.open(Path(folder))
    checkpoint = run.for_use(Shown())
    task = run.recipe.get("task", {})
    scores = checkpoint.progress().get("scores", {})
    return {"task": task.get("kind"), "step": checkpoint.step, "scores": scores, "data": run.recipe.get("data", {})}


def _tree(node: "Node", name: str, branch: Tree | None = None, depth: int = 0) -> Tree:
    label = _label(node, name, depth)
    branch = Tree(label, guide_style="dim") if branch is None else branch.add(label)
    while _wraps(node):
        node = node.parts[0]
    for part, part_name in _folded(node.parts):
        _tree(part, part_name, branch, depth + 1)
    return branch


def _label(node: "Node", name: str, depth: int) -> Text:
    shape = "×".join(str(step) for step in node.shape)
    kind = node.kind
    if _wraps(node) and node.parts[0].kind != kind:
        kind = f"{kind} · {node.parts[0].kind}"
    arrow = f"  → {shape}" if shape else ""
    return Text.assemble(
        (f"{name:<{34 - 4 * depth}}", "bold"), f"{count(node.parameters):>6}  ", (kind, "dim"), (arrow, "cyan")
    )


def _wraps(node: "Node") -> bool:
    """Whether a part says no more than the one part inside it."""
    only = node.parts[0] if len(node.parts) == 1 else None
    return only is not None and only.parameters == node.parameters and only.kind not in ("ModuleList", "Parameter")


def _folded(parts: "list[Node]") -> "list[tuple[Node, str]]":
    """Lists are opened, and neighbours that are alike are shown once: `layers 0…5`."""
    flat = [(part, part.name) for part in parts if part.kind != "ModuleList"]
    for listed in (part for part in parts if part.kind == "ModuleList"):
        flat += [(part, f"{listed.name} {name}") for part, name in _runs(listed.parts)]
    return flat


def _runs(parts: "list[Node]") -> "list[tuple[Node, str]]":
    runs: list[tuple[Node, str]] = []
    for part in parts:
        if runs and _alike(runs[-1][0], part):
            runs[-1] = (runs[-1][0], f"{runs[-1][0].name}…{part.name}")
        else:
            runs.append((part, part.name))
    return runs


def _alike(one: "Node", other: "Node") -> bool:
    return (one.kind, one.parameters, one.shape) == (other.kind, other.parameters, other.shape)


def _figures(found: "Description") -> None:
    per = "token" if found.decoding else "image"
    table = columns("", " ")
    table.show_header = False
    table.add_row("parameters", count(found.parameters))
    table.add_row(f"forward FLOPs per {per}", count(found.flops_per_token))
    for name, number in found.training.items():
        at = (
            f" (batch {found.batch}" + (f", length {found.length})" if found.decoding else ")")
            if name == "activations"
            else ""
        )
        table.add_row(f"training memory: {name}{at}", size(number))
    table.add_row("training memory: together", size(sum(found.training.values())))
    if found.decoding:
        table.add_row(f"decoding memory after {found.length} tokens", size(found.decoding["at_length"]))
        table.add_row("decoding memory for each more", size(found.decoding["per_token"]))
    console.print(table)
