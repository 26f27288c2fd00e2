"""regard train: from a recipe and data to a run."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from regard.commands.show import line


def train(
    recipe: Annotated[str, typer.Argument(help="A recipe's name or file; with --resume a run folder.")],
    overrides: Annotated[list[str] | None, typer.Argument(metavar="[a.b=c]…", help="Keys to set.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/RECIPE if not said.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the run stopped.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON line per event, for machines.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only warnings, errors and the run's folder.")] = False,
) -> None:
    """Train a model on your own data, and keep everything in a run folder."""
    from regard.commands.reporter import Reporter, stopped
    from regard.training.events import Ended, Started
    from regard.training.stop import Stop

    stop, folder, last = Stop(), Path(), None
    silent = os.environ.get("RANK", "0") != "0"
    with stop.on_signals(), Reporter(json, silent, quiet, stop) as report:
        report.starting()
        from regard.training.train import training

        for event in training(recipe, *(overrides or ()), out=out, resume=resume, listener=report, stop=stop):
            folder = event.folder if isinstance(event, Started) else folder
            last = event
            report(event)
    if isinstance(last, Ended) and last.why == "stopped":
        if not silent:
            stopped(folder, last.step, stop, to_people=not json and not quiet)
        sys.exit(stop.code)
    if quiet and not json and not silent:
        print(folder)
    elif not json and not silent:
        line("Next: ", (f"regard evaluate {folder}", "bold"))
        line("      ", (_verb(folder), "bold"))


def _verb(folder: Path) -> str:
    """What the task says one does with a trained run."""
    from regard.recipe import Recipe
    from regard.trained import task_of
    from regard.training.menu import MENU

    return task_of(Recipe.resolve(str(folder), MENU)).example.format(run=folder)
