"""regard describe: a model in figures."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from rich.tree import Tree

from regard.commands.show import as_json, columns, console
from regard.commands.shown import Shown
from regard.figures import count

if TYPE_CHECKING:
    from regard.model.described import Outline


def describe(
    recipe: Annotated[str, typer.Argument(help="A recipe's name or file, or a run folder.")],
    overrides: Annotated[list[str] | None, typer.Argument(metavar="[a.b=c]…", help="Keys to set.")] = None,
    length: Annotated[int, typer.Option(min=1, help="Tokens in a sequence.")] = 128,
    batch: Annotated[int, typer.Option(min=1, help="Sequences in a training batch.")] = 16,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Show the parts of a model, their shapes and parameters, and what it costs."""
    from regard.model.describe import describe as described
    from regard.model.described import figures, outline
    from regard.recipe.read import is_run

    run = _run(recipe) if is_run(recipe) else {}  # first: what is wrong with a run is not said of its keys
    found = described(recipe, *(overrides or ()), length=length, batch=batch)
    if json:
        return as_json(asdict(found) | ({"run": run} if run else {}))
    console.print(f"[bold]{found.name}[/]  {found.about.replace('[', chr(92) + '[')}\n")
    if run:
        scores = "  ".join(f"{name} {value:.4g}" for name, value in run["scores"].items())
        console.print(f"a run for [bold]{run['task']}[/], best at step {run['step']:,}  {scores}\n")
    console.print(_tree(outline(found.tree)), no_wrap=True)
    console.print()
    table = columns("", " ")
    table.show_header = False
    for row in figures(found):
        table.add_row(*row)
    console.print(table)
    return None


def _run(folder: str) -> dict[str, Any]:
    """What a run folder says about itself."""
    from regard.run import Run

    run = Run.open(Path(folder))
    checkpoint = run.for_use(Shown())
    task = run.recipe.get("task", {})
    scores = checkpoint.progress().get("scores", {})
    return {"task": task.get("kind"), "step": checkpoint.step, "scores": scores, "data": run.recipe.get("data", {})}


def _tree(part: "Outline", branch: Tree | None = None, depth: int = 0) -> Tree:
    arrow = f"  → {part.shape}" if part.shape else ""
    name = (f"{part.name:<{34 - 4 * depth}}", "bold")
    label = Text.assemble(name, f"{count(part.parameters):>6}  ", (part.kind, "dim"), (arrow, "cyan"))
    branch = Tree(label, guide_style="dim") if branch is None else branch.add(label)
    for inner in part.parts:
        _tree(inner, branch, depth + 1)
    return branch
