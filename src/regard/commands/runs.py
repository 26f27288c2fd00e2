"""regard runs: which runs there are, what one of them is, and how to get rid of it."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from regard.commands.show import as_json, columns, console
from regard.figures import count, figures, size

if TYPE_CHECKING:
    from regard.run.overview import Overview

JSON = Annotated[bool, typer.Option("--json", help="For machines.")]


class ListByDefault(TyperGroup):
    """`regard runs FOLDER` is short for `regard runs list FOLDER`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "-h")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


runs = typer.Typer(
    cls=ListByDefault,
    help="List the runs below a folder (runs/ if not said), show one, or remove one.",
    no_args_is_help=False,
)


@runs.command("list")
def list_runs(
    folder: Annotated[Path, typer.Argument(help="Where to look, and a little below.")] = Path("runs"),
    json: JSON = False,
) -> None:
    """List runs, those that changed last first."""
    from regard.run.overview import HEADS
    from regard.run.overview import runs as found_in

    found = found_in(folder)
    if json:
        return as_json([_facts(one) for one in found])
    if not found:
        console.print(f"no runs in {folder}; `regard train RECIPE …` makes one", soft_wrap=True, markup=False)
        return None
    table = columns(*HEADS)
    for one in found:
        table.add_row(*one.row())
    console.print(table)
    return None


@runs.command("show")
def show_run(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write its learning curve there: .png, .svg, .pdf or .csv.")
    ] = None,
    json: JSON = False,
) -> None:
    """Show what a run is: facts, data, scores, and the command that made it."""
    from regard.run import Run
    from regard.run.curve import curve_file
    from regard.run.overview import overview

    opened = Run.open(run)
    found = overview(opened.folder)
    written = curve_file(opened.folder, found.name, out) if out else None
    facts = _facts(found) | {key: opened.facts.get(key) for key in ("made", "commands", "versions", "splits", "from")}
    facts |= {"data": opened.recipe.get("data"), "evaluations": opened.scores(), "diverged": opened.diverged}
    if json:
        return as_json(facts | ({"curve": str(written)} if written else {}))
    _show(found, facts, opened.folder)
    if written:
        console.print(f"Look at [bold]{written}[/].", soft_wrap=True)
    return None


@runs.command("remove")
def remove(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: JSON = False,
) -> None:
    """Remove a run and all that is in its folder."""
    from regard.run.overview import overview, removable, remove_run

    found = overview(removable(run))
    what = f"{found.folder} ({found.task} {found.name}, {found.step:,} steps, {size(found.bytes)})"
    if not yes and not typer.confirm(f"Remove {what}?"):
        raise typer.Exit(1)
    gone = remove_run(run)
    if json:
        return as_json({"removed": str(gone.folder), "bytes": gone.bytes})
    console.print(f"removed {gone.folder}, {size(gone.bytes)}", markup=False, soft_wrap=True)
    return None


def _facts(one: "Overview") -> dict[str, Any]:
    return asdict(one) | {"folder": str(one.folder)}


def _show(found: "Overview", facts: dict[str, Any], folder: Path) -> None:
    table = columns("", "")
    table.show_header = False
    steps = f"{found.step:,} of {found.steps:,} steps" if found.steps else f"{found.step:,} steps"
    rows = {
        "run": f"{folder}: {found.task}, recipe {found.name}",
        "state": f"{found.state}, {steps}, changed {found.age} ago" + (f"; {found.said}" if found.said else ""),
        "diverged": f"at step {facts['diverged']:,}" if facts["diverged"] is not None else "",
        "model": f"{count(found.parameters)} parameters" if found.parameters else "",
        "size": size(found.bytes),
        "best": f"step {found.best_step:,}: {_scores(found.scores or {})}" if found.scores else "",
    }
    for split, report in (facts["splits"] or {}).items():
        left = sum(held[0] for held in report.get("left_out", {}).values())
        rows[f"{split} data"] = f"{report.get('kept', 0):,}" + (f", {left:,} left out" if left else "")
    for one in facts["evaluations"][:5]:
        how = " ".join([one.get("on") or f"its {one.get('split')} data", *one.get("how", [])])
        rows[f"evaluated on {how}"] = f"step {one.get('step')}: {_scores(one.get('scores', {}))}"
    if facts["from"]:
        rows["begun from"] = f"{facts['from'].get('run')}, step {facts['from'].get('step')}"
    rows["made"] = " ".join(filter(None, (facts["made"], *(f"{k} {v}" for k, v in (facts["versions"] or {}).items()))))
    for number, command in enumerate(facts["commands"] or []):
        rows["by" if not number else f"then ({number})"] = command
    if (folder / "curve.png").is_file():
        rows["curve"] = f"{folder / 'curve.png'} and {folder / 'curve.csv'}"
    for name, value in rows.items():
        if value:
            table.add_row(name, value.replace("[", "\\["))
    console.print(table)


def _scores(scores: dict[str, Any]) -> str:
    return figures(scores)
