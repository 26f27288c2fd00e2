"""A run without a state: weights to use, and nothing to go on from. Made whole, or not at all."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import InputError
from regard.recipe.read import is_run
from regard.run.card import CARD
from regard.run.checkpoint import Checkpoint
from regard.run.create import FACTS, check_new, claimed, discard
from regard.run.lock import CHECKPOINTS, LOCK
from regard.run.run import Run

if TYPE_CHECKING:
    from regard.disk.tensors import Tensors


def check_slim(folder: Path) -> None:
    """Refuse a place where none can be made: asked before any work is done for it."""
    if is_run(folder):
        raise InputError(f"{folder}: there is a run already; ", call="choose another out=", flag="choose another --out")
    check_new(folder)


@contextmanager
def slim_run(
    folder: Path,
    recipe: dict[str, Any],
    files: Mapping[str, bytes],
    facts: dict[str, Any],
    weights: "Tensors",
    progress: Mapping[str, Any],
) -> Iterator[Run]:
    """A new run with one checkpoint, of the step that `progress` names; more may be added before it is whole."""
    step = progress["step"]
    with claimed(folder):
        made = Run.create(folder, recipe, files, str(facts.get("data", "")), facts | {"packed": step})
        try:
            Checkpoint.write(folder / CHECKPOINTS / f"step-{step}", weights, None, dict(progress))
            made.point("best", f"step-{step}")
            yield made
            (folder / LOCK).unlink()  # nobody goes on with it
        except BaseException:
            discard(folder, [*files, FACTS, "best", CARD, "evaluation.json"])
            folder.rmdir() if not any(folder.iterdir()) else None
            raise
