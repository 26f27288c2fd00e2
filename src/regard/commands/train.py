"""regard train: from a recipe and data to a run."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from regard.commands.show import console


def train(
    recipe: Annotated[str, typer.Argument(help="A recipe's name or file; with --resume a run folder.")],
    overrides: Annotated[list[str] | None, typer.Argument(metavar="[a.b=c]…", help="Keys to set.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/RECIPE if not said.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the run stopped.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON line per event, for machines.")] = False,
) -> None:
    """Train a model on your own data, and keep everything in a run folder."""
    from regard.commands.reporter import Reporter
    from regard.training.events import Ended, Started
    from regard.training.stop import Stop
    from regard.training.train import training

    stop, folder, last = Stop(), Path(), None
    silent = os.environ.get("RANK", "0") != "0"
    with stop.on_signals(), Reporter(json, silent) as report:
        for event in training(recipe, *(overrides or ()), out=out, resume=resume, listener=report, stop=stop):
            folder = event.folder if isinstance(event, Started) else folder
            last = event
            report(event)
    stopped = isinstance(last, Ended) and last.why == "stopped"
    if not json and not silent:
        _farewell(folder, stopped)
    if stopped:
        sys.exit(130)


def _farewell(folder: Path, stopped: bool) -> None:
    if stopped:
        console.print(f"Stopped; all is saved. Go on: [bold]regard train {folder} --resume[/]", soft_wrap=True)
        return
    console.print(f"Next: [bold]regard evaluate {folder}[/]", soft_wrap=True)
    console.print(f"      [bold]{_verb(folder)}[/]", soft_wrap=True)


def _verb(folder: Path) -> str:
    """What the task says one does with a trained run."""
    from regard.recipe import Recipe
    from regard.trained import task_of
    from regard.training.menu import MENU

    return task_of(Recipe.resolve(str(folder), MENU)).example.format(run=folder)
