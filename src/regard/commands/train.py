"""regard train: from a recipe and data to a run."""

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from regard.commands.completing import keys, recipes
from regard.commands.show import as_json, columns, console, line, plainly


def train(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE|RUN|from=RUN",
            autocompletion=recipes,
            help="A recipe's name or file; with --resume a run folder; from=RUN to begin with a run's weights, "
            "vocabulary and recipe.",
        ),
    ],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="[a.b=c]…", help="Keys to set.", autocompletion=keys)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The run folder, new or empty; if not said runs/RECIPE, or runs/RECIPE-2 and so on."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where the run stopped; for longer with training.steps=N.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be trained, how long and with how much memory.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON line per event, for machines.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only warnings, errors and the run's folder.")] = False,
) -> None:
    """Train a model on your own data, and keep everything in a run folder.

    regard train transformer-small data.train=corpus data.source=de data.target=en

    regard train runs/mine --resume training.steps=20000

    regard train from=runs/mine data.train=other --out runs/tuned
    """
    if dry_run:
        return _plan(recipe, overrides or [], out, resume, json, quiet)
    from regard.commands.reporter import Reporter, stopped
    from regard.run.curve import keep_picture
    from regard.training.events import Ended, Started
    from regard.training.stop import Stop

    stop, folder, last = Stop(), Path(), None
    silent = os.environ.get("RANK", "0") != "0"
    words = [recipe, *(overrides or ())]
    command = shlex.join(["regard", "train", *words, *(["--out", str(out)] if out else []), *["--resume"] * resume])
    with stop.on_signals(), Reporter(json, silent, quiet, stop) as report:
        report.starting()
        from regard.training.train import training

        try:
            for event in training(*words, out=out, resume=resume, listener=report, stop=stop, command=command):
                folder = event.folder if isinstance(event, Started) else folder
                last = event
                report(event)
        finally:
            if folder != Path() and not silent:
                keep_picture(folder, folder.name, report)
    if isinstance(last, Ended) and last.why == "stopped":
        if not silent:
            stopped(folder, last.step, stop, to_people=not json and not quiet)
        sys.exit(stop.code)
    if quiet and not json and not silent:
        plainly(folder)
    elif not json and not silent:
        for number, command in enumerate(_next(folder)):
            line("      " if number else "Next: ", (command, "bold"))
    return None


def _plan(recipe: str, overrides: list[str], out: Path | None, resume: bool, json: bool, quiet: bool) -> None:
    """What would be trained, as a table."""
    from dataclasses import asdict

    from regard.commands.shown import Shown
    from regard.training.plan import plan

    with Shown(quiet) as heard:
        found = plan(recipe, *overrides, out=out, resume=resume, listener=heard)
    memory = found.memory
    if json:
        facts = asdict(found) | {"folder": str(found.folder), "seconds": found.seconds}
        return as_json(facts | {"memory": asdict(memory) | {"total": memory.total}})
    table = columns("", "")
    table.show_header = False
    for row in found.rows():
        table.add_row(*row)
    console.print(table)
    line("Nothing was trained or kept.")
    return None


def _next(folder: Path) -> list[str]:
    """What one does with a trained run: what it was held out for, and what its task says."""
    from regard.recipe import Recipe
    from regard.run import Run
    from regard.trained import task_of
    from regard.training.menu import MENU

    named = shlex.quote(str(folder))
    splits = Run.open(folder).facts.get("splits", {})
    held_out = any(splits.get(split, {"kept": 1}).get("kept") for split in ("valid", "test"))
    example = task_of(Recipe.resolve(str(folder), MENU)).example.format(run=named)
    return [f"regard evaluate {named}{'' if held_out else ' --on FILE'}", example]
