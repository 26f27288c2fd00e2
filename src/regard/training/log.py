"""What happens, written down as it happens: log.jsonl, and TensorBoard for those who want it."""

import time
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from regard.errors import RecipeError
from regard.runs import Run
from regard.training.learner import Step
from regard.training.loop import Event, Validated

EVERY = 10


def logged(events: Iterator[Event], run: Run, tensorboard: bool = False) -> Iterator[Event]:
    """The same events; every tenth step and every validation is also written down."""
    board = _board(run) if tensorboard else None
    start = time.time() - max((entry.get("seconds", 0.0) for entry in run.history()), default=0.0)
    steps: list[Step] = []
    for event in events:
        entry: dict[str, Any] = {}
        if isinstance(event, Step):
            steps.append(event)
            if event.number % EVERY == 0:
                entry, steps = _summed(steps), []
        elif isinstance(event, Validated):
            entry = {"step": event.step, "valid": event.scores}
        if entry:
            run.log(entry | {"seconds": round(time.time() - start, 2)})
            _draw(board, entry)
        yield event


def _summed(steps: list[Step]) -> dict[str, Any]:
    tokens = sum(step.tokens for step in steps)
    return {
        "step": steps[-1].number,
        "loss": sum(step.loss * step.tokens for step in steps) / tokens,
        "tokens_per_second": round(tokens / sum(step.seconds for step in steps), 1),
        "rate": steps[-1].rate,
        "norm": steps[-1].norm,
    }


def check_board() -> None:
    """Before anything is written."""
    if find_spec("tensorboard") is None:
        raise RecipeError("training.tensorboard: not installed; `pip install tensorboard`, or say false")


def _board(run: Run) -> Any:
    return import_module("torch.utils.tensorboard").SummaryWriter(run.folder / "tensorboard")


def _draw(board: Any, entry: dict[str, Any]) -> None:
    if board is not None:
        flat = {f"valid/{name}": value for name, value in entry.get("valid", {}).items()}
        flat |= {name: value for name, value in entry.items() if name not in ("step", "valid")}
        for name, value in flat.items():
            board.add_scalar(name, value, entry["step"])
