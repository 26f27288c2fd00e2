"""What all tours share: where their runs go, training while one watches, and what machines are told at the end."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.commands.show import console, line

if TYPE_CHECKING:
    from regard.tasks.task import Evaluation
    from regard.trained import Trained

COMMAND = "regard demo"  # how a run says that a demo made it


@dataclass(frozen=True)
class Tour:
    """One walk through a demo: where its runs go, and to whom it speaks."""

    command: str
    out: Path
    json: bool
    quiet: bool

    @property
    def tells(self) -> bool:
        """Whether a person wants to be told."""
        return not (self.json or self.quiet)

    def folder(self, name: str) -> Path:
        """Where a model of the demo goes: with what an earlier demo made it goes on, what anybody else made stays."""
        number, folder = 1, self.out / name
        while folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
            if _made_by_demo(folder):
                break
            number += 1
            folder = self.out / f"{name}-{number}"
        if self.tells and number > 1:
            line(f"{self.out / name} is not the demo's and stays as it is; this one goes to {folder}.")
        return folder

    def learn(self, name: str, title: str, folder: Path) -> "tuple[Trained, Evaluation]":
        """Train a recipe while one watches, and score what it has learnt. A signal saves and ends the demo."""
        from regard.commands.reporter import Reporter, stopped
        from regard.recipe.read import is_run
        from regard.run.curve import keep_picture
        from regard.training.events import Ended
        from regard.training.stop import Stop
        from regard.training.train import training
        from regard.verbs import evaluate, opened

        stop, last = Stop(), None
        again = is_run(folder)
        if self.tells:
            line((title, "bold"), f" (recipe {name})")
        if self.tells and again:
            line(f"{folder} is there from an earlier demo; remove it to begin from nothing.")
        with stop.on_signals(), Reporter(self.json, False, self.quiet, stop) as report:
            command = f"{self.command} --out {shlex.quote(str(folder.parent))}"
            recipe, out = (str(folder), None) if again else (name, folder)
            for last in training(recipe, out=out, resume=again, stop=stop, listener=report, command=command):
                report(last)
            keep_picture(folder, folder.name, report)
        if isinstance(last, Ended) and last.why == "stopped":
            stopped(folder, last.step, stop, to_people=self.tells)
            sys.exit(stop.code)
        trained = opened(folder)
        return trained, evaluate(trained)

    def for_machines(self, found: "dict[Path, tuple[str, Evaluation]]", picture: Path, **more: Any) -> None:
        """The last line for machines: the scores of every run by the recipe it has, and the picture."""
        from regard.disk.files import json_text

        runs = {name: one.document() | {"folder": str(folder)} for folder, (name, one) in found.items()}
        print(json_text({"event": "demo", "runs": runs, "picture": str(picture)} | more), flush=True)

    def next(self, *commands: str) -> None:
        """What to do next."""
        console.print("\nNext:")
        for command in commands:
            line("  ", (command, "bold"))


def _made_by_demo(folder: Path) -> bool:
    """Whether an earlier demo made all of a run, and nobody has trained it further."""
    from regard.errors import InputError
    from regard.run import Run

    try:
        commands = Run.open(folder).facts.get("commands") if not folder.is_symlink() else None
    except InputError:
        return False
    return isinstance(commands, list) and len(commands) == 1 and str(commands[0]).startswith(COMMAND)
