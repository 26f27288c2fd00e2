"""What every recipe is in figures, without torch: as it was written down when Regard was made (`make generated`)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from regard.disk import read_json
from regard.disk.shelf import shelf
from regard.recipe import Size
from regard.recipe.read import read

FILE = "figures.json"
LENGTH = 32  # tokens of the sequences that costs are counted with
WAYS = 3  # a training step costs as much as so many passes forward


@dataclass(frozen=True)
class Figures:
    """One recipe. `flops` are those of training for one token of source or target, or for one image; `tokens` (or
    images, as `unit` says) are all that it learns from where its data come with Regard, else 0."""

    task: str
    model: str
    parameters: int
    flops: int
    tokens: int
    unit: str = "tokens"


def kept_figures() -> dict[str, Figures]:
    """By the names of the recipes; none of those that nobody has reckoned."""
    try:
        table = read_json(shelf() / FILE, links=True)
        return {name: Figures(**facts) for name, facts in table.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def reckoned() -> dict[str, dict[str, Any]]:
    """The same from the code: this builds every model without its numbers, and reads the data that come with it."""
    names = sorted(path.stem for path in shelf().glob("*.toml"))
    return {name: asdict(_of(name)) for name in names}


def _of(name: str) -> Figures:
    from regard.training.describe import describe

    table = read(name)
    tokens, sizes = _learnt(name) if "data" in table else (0, {})
    kind = str(table.get("task", {}).get("kind", ""))
    length = LENGTH if _unit(kind) == "tokens" else None
    found = describe(name, {f"model.{key}": size for key, size in sizes.items()}, length=length, batch=1)
    sides = 2 if found.tree.name == "seq2seq" else 1  # costs are told for a token of each side
    flops = round(WAYS * found.flops_per_token / sides)
    return Figures(kind, found.tree.name, found.parameters, flops, tokens, _unit(kind))


def _unit(kind: str) -> str:
    from regard.tasks.menu import SLOTS

    (tasks,) = (slot for slot in SLOTS if slot.name == "task")
    unit: str = tasks.entries[kind].unit if kind else "tokens"  # type: ignore[attr-defined]
    return unit


def _learnt(name: str) -> tuple[int, Mapping[str, Size]]:
    """Tokens of all epochs, on both sides, or images, and the sizes that the data ask of the model; nothing is fetched
    for it."""
    from regard.datasets.get import fetchable
    from regard.listener import SILENT
    from regard.recipe import Recipe
    from regard.training.menu import MENU
    from regard.training.settings import TrainingOptions

    recipe = Recipe.resolve(name, MENU)
    if recipe.table()["data"]["kind"] in fetchable():
        return 0, {}
    task = recipe.wants("task").build(None)
    task.prepare(SILENT)
    batches = task.batches(0)
    epoch: int = sum(batches[number].size for number in range(len(batches)))
    settings: TrainingOptions = recipe.wants("training").build()
    return round(epoch * settings.total(len(batches)) / len(batches)), task.sizes()
