"""What happens, written down as it happens: log.jsonl, and TensorBoard for those who want it."""

import time
from collections.abc import Iterator
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from regard.disk.files import finite
from regard.errors import RecipeError
from regard.run import Run
from regard.run.lock import own_folder
from regard.training.events import Ended, Event, Prepared, Saved, Started, Step, Validated

EVERY = 10


def logged(
    events: Iterator[Event], run: Run, tensorboard: bool = False, prepared: Prepared | None = None
) -> Iterator[Event]:
    """The same events; what became of the data, every tenth step, the last ones and every validation are written."""
    board = _board(run) if tensorboard else None
    history = run.history()
    start = time.time() - max((entry.get("seconds", 0.0) for entry in history), default=0.0)
    if prepared is not None and not any("data" in entry for entry in history):
        run.log({"step": 0, "data": asdict(prepared)["splits"], "seconds": 0.0})
    steps: list[Step] = []
    unit = ""
    for event in events:
        entries: list[dict[str, Any]] = []
        unit = event.unit if isinstance(event, Started) else unit
        steps += [event] if isinstance(event, Step) else []
        if steps and (isinstance(event, Saved | Ended) or steps[-1].number % EVERY == 0):
            entries.append(_summed(steps, unit))
            steps = []
        if isinstance(event, Validated):
            entries.append({"step": event.step, "valid": event.scores})
        for entry in entries:
            run.log(finite(entry) | {"seconds": round(time.time() - start, 2)})
            _draw(board, entry)
        yield event


def _summed(steps: list[Step], unit: str) -> dict[str, Any]:
    predictions = sum(step.predictions for step in steps)
    return {
        "step": steps[-1].number,
        "loss": sum(step.loss * step.predictions for step in steps) / predictions,
        f"{unit}_per_second": round(sum(step.size for step in steps) / sum(step.seconds for step in steps), 1),
        "lr_factor": steps[-1].lr_factor,
        "grad_norm": steps[-1].grad_norm,
    }


def check_board() -> None:
    """Before anything is written."""
    if find_spec("tensorboard") is None:
        raise RecipeError("training.checkpoints.tensorboard: not installed; `pip install tensorboard`, or say false")


def _board(run: Run) -> Any:
    return import_module("torch.utils.tensorboard").SummaryWriter(own_folder(run.folder, "tensorboard"))


def _draw(board: Any, entry: dict[str, Any]) -> None:
    if board is not None:
        flat = {f"valid/{name}": value for name, value in entry.get("valid", {}).items()}
        flat |= {name: value for name, value in entry.items() if name not in ("step", "valid")}
        for name, value in flat.items():
            board.add_scalar(name, value, entry["step"])
