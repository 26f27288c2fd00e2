"""regard runs: which runs there are, what one of them is, and how to get rid of it."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.cells import cell_len
from rich.text import Text
from typer.core import TyperGroup

from regard.commands.completing import runs as complete_runs
from regard.commands.show import as_json, columns, console, line, plainly
from regard.datasets.lines import one_line
from regard.errors import FailedError
from regard.figures import count, size, text_table

if TYPE_CHECKING:
    from regard.run.overview import Overview

SPARED = ("task", "size", "recipe", "age")  # what a narrow terminal does without, first the first
JSON = Annotated[bool, typer.Option("--json", help="For machines.")]


class ListByDefault(TyperGroup):
    """`regard runs FOLDER` is short for `regard runs list FOLDER`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "-h")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


KEPT = ("made", "commands", "versions", "splits", "licence", "origin", "from")
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
    from regard.run.overview import runs as found_in

    found = found_in(folder)
    if json:
        return as_json([_facts(one) for one in found])
    if not found:
        line(f"no runs in {folder}; `regard train RECIPE …` makes one")
        return None
    plainly(_fitting(found))
    return None


@runs.command("show")
def show_run(
    run: Annotated[Path, typer.Argument(help="A run folder.", autocompletion=complete_runs)],
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
    found = overview(opened.folder, thorough=True)
    written = curve_file(opened.folder, opened.folder.name, out) if out else None
    facts = _facts(found) | {key: opened.facts.get(key) for key in KEPT}
    facts |= {"data": opened.recipe.get("data"), "evaluations": opened.scores(), "diverged": opened.diverged}
    if json:
        return as_json(facts | ({"curve": str(written)} if written else {}))
    _show(found, facts, opened.folder)
    if written:
        line("Look at ", (str(written), "bold"), ".")
    return None


@runs.command("remove")
def remove(
    run: Annotated[Path, typer.Argument(help="A run folder.", autocompletion=complete_runs)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: JSON = False,
) -> None:
    """Remove a run and all that is in its folder."""
    from regard.run.overview import overview, removable, remove_run

    found = overview(removable(run))
    what = f"{one_line(str(found.folder))} ({found.task} {found.name}, {found.step:,} steps, {size(found.bytes)})"
    if not yes and not _agreed(f"Remove {what}?"):
        raise FailedError("nothing was removed; --yes removes without asking")
    gone = remove_run(run)
    if json:
        return as_json({"removed": str(gone.folder), "bytes": gone.bytes})
    line("removed ", (one_line(str(gone.folder)), "bold"), f", {size(gone.bytes)}")
    return None


def _agreed(question: str) -> bool:
    try:
        return typer.confirm(question)
    except typer.Abort:  # nobody there to answer
        print()
        return False


def _fitting(found: "list[Overview]") -> str:
    """A table of all. On a terminal too narrow for it, columns go one after another; what one would copy stays."""
    from regard.run.overview import HEADS

    rows, kept = [tuple(map(one_line, one.row())) for one in found], list(range(len(HEADS)))
    widths = [max(map(cell_len, (head.strip(), *cells))) for head, *cells in zip(HEADS, *rows, strict=True)]
    for spared in SPARED:
        if console.is_terminal and sum(widths[place] + 2 for place in kept) - 2 > console.width:
            kept.remove([head.strip() for head in HEADS].index(spared))
    return text_table([HEADS[place] for place in kept], [[row[place] for place in kept] for row in rows])


def _facts(one: "Overview") -> dict[str, Any]:
    return asdict(one) | {"folder": str(one.folder)}


def _show(found: "Overview", facts: dict[str, Any], folder: Path) -> None:
    from regard.run.told import data_lines, licence_lines, score_line

    table = columns("", "")
    table.show_header = False
    steps = f"{found.step:,} of {found.steps:,} steps" if found.steps else f"{found.step:,} steps"
    rows = {
        "run": f"{folder}: {found.task}, recipe {found.name}" if found.task else str(folder),
        "state": f"{found.state}, {steps}, changed {found.age} ago" + (f"; {found.said}" if found.said else ""),
        "diverged": f"at step {facts['diverged']:,}" if facts["diverged"] is not None else "",
        "model": f"{count(found.parameters)} parameters" if found.parameters else "",
        "size": size(found.bytes),
        "best": f"step {found.best_step:,}: {score_line(found.scores)}" if found.scores else "",
    }
    rows |= {f"{split} data": said for split, said in data_lines(facts).items()}
    licences = licence_lines({key: facts[key] for key in KEPT if facts[key] is not None})
    rows["licence"] = "; ".join(f"{licence} ({what})" for what, licence in licences.items())
    for number, one in enumerate(facts["evaluations"][:5], 1):
        on = one.get("on") or f"its {one.get('split')} data"
        how = " ".join([f"{on} (trained on)" if one.get("learnt") else on, *one.get("how", [])])
        rows[f"scores ({number})"] = f"on {how}, step {one.get('step')}: {score_line(one.get('scores'))}"
    if facts["from"]:
        better = score_line(facts["from"].get("scores"))
        rows["begun from"] = f"{facts['from'].get('run')}, step {facts['from'].get('step')}" + (
            f": {better}, on the same data" if better else ""
        )
    rows["made"] = " ".join(filter(None, (facts["made"], *(f"{k} {v}" for k, v in (facts["versions"] or {}).items()))))
    for number, command in enumerate(facts["commands"] or []):
        rows["by" if not number else f"then ({number})"] = command
    if (folder / "curve.png").is_file():
        rows["curve"] = f"{folder / 'curve.png'} and {folder / 'curve.csv'}"
    for name, value in rows.items():
        if value:
            table.add_row(name, Text(one_line(value)))
    console.print(table)
