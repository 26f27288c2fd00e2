"""From a recipe to a trained run."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import torch

from regard.allocator import keep_memory
from regard.errors import InputError, RecipeError
from regard.model.assembly import Assembly
from regard.recipe import Part, Recipe
from regard.recipe.read import read
from regard.runs import Run
from regard.tasks.task import Task
from regard.tasks.translation import Translation
from regard.training.learner import Learner
from regard.training.log import check_board, logged
from regard.training.loop import Event, Loop, Started, Stop
from regard.training.menu import MENU
from regard.training.parallel import Team, team
from regard.training.settings import Training

FREE = ("training.device", "training.parallel", "training.keep", "training.tensorboard")


def train(
    recipe: str | Mapping[str, Any],
    *overrides: str,
    out: str | Path | None = None,
    resume: bool = False,
    happened: Callable[[Event], None] = lambda _: None,
) -> Run:
    """Train a recipe to its end: `train("gru-additive", "data.kind=numbers", out="runs/numbers")`."""
    run = None
    for event in training(recipe, *overrides, out=out, resume=resume):
        happened(event)
        run = Run.open(event.folder) if isinstance(event, Started) else run
    assert run is not None
    return run


def training(
    recipe: str | Mapping[str, Any],
    *overrides: str,
    out: str | Path | None = None,
    resume: bool = False,
    tell: Callable[[str], None] = print,
    stop: Stop | None = None,
) -> Iterator[Event]:
    """Everything that happens while a recipe's model is trained in a run folder, begun or gone on with."""
    keep_memory()
    table, folder = _wish(recipe, overrides, out, resume)
    checked = Recipe.check(anchored(table), MENU, _name(recipe))
    settings: Training = wanted(checked.training, "training").build()
    if settings.tensorboard:
        check_board()
    with team(settings.device) as together:
        run = Run.open(folder) if resume else None
        task = _together(checked, settings, run, together)
        checked = fitted(checked, task)
        if run is None and together.leads:
            run = Run.create(folder, checked.table(), task.tokens(), task.facts(), task.extras())
        together.agree(False)
        run = run or Run.open(folder)
        _same(run, checked, task)
        torch.manual_seed(settings.seed)
        model: Assembly = checked.model.build()
        with (
            run.hold() if together.leads else nullcontext(),
            closing(Learner(model, task, settings, together)) as learner,
        ):
            loop = Loop(learner, run, checked.model.build, stop or Stop())
            loop.resume(tell)
            yield from logged(iter(loop), run, settings.tensorboard) if together.leads else iter(loop)


def _wish(
    recipe: str | Mapping[str, Any], overrides: Iterable[str], out: str | Path | None, resume: bool
) -> tuple[Mapping[str, Any], Path]:
    """The tables wanted and the folder meant; to go on, naming the run is enough."""
    if isinstance(recipe, str) and (Path(recipe) / "recipe.toml").is_file():
        if not resume:
            raise InputError(
                f"{recipe}: there is a run already; go on with --resume, or name a recipe and another --out"
            )
        return read(str(Path(recipe) / "recipe.toml"), overrides), Path(recipe)
    if resume and out is None:
        what = "not a run folder" if isinstance(recipe, str) and Path(recipe).is_dir() else "which run is meant?"
        raise InputError(f"--resume {recipe}: {what}; name the folder of a run: `regard train runs/NAME --resume`")
    table = read(recipe, overrides) if isinstance(recipe, str) else recipe
    return table, Path(out) if out is not None else _free(Path("runs") / _name(recipe))


def _name(recipe: str | Mapping[str, Any]) -> str:
    return Path(recipe).stem if isinstance(recipe, str) else str(recipe.get("name", "recipe"))


def _free(folder: Path) -> Path:
    """runs/name, or the first of runs/name-2, runs/name-3, … that is not there."""
    tries = (folder if n == 1 else folder.with_name(f"{folder.name}-{n}") for n in count(1))
    return next(path for path in tries if not path.exists())


def prepare(recipe: Recipe, longest: int, tokens: dict[str, Any] | None = None) -> Task:
    """The task of a recipe, its data read and encoded."""
    if recipe.model.kind != "seq2seq":
        raise RecipeError(f"model.kind: {recipe.model.kind} cannot be trained yet; choose seq2seq")
    data, cutter = wanted(recipe.data, "data"), wanted(recipe.tokens, "tokens")
    return Translation.prepare(data.build(), cutter.build(), longest, tokens)


def wanted(part: Part[Any] | None, name: str) -> Part[Any]:
    if part is None:
        raise RecipeError(
            f"{name}: missing; say what to learn from: data.train=FILE (FILE.de and FILE.en) data.source=de "
            "data.target=en\nor take built-in data: data.kind=numbers; `regard menu data` lists them all"
        )
    return part


def fitted(recipe: Recipe, task: Task) -> Recipe:
    """The recipe with the sizes the data ask for."""
    table = recipe.table()
    table["model"] |= task.sizes()
    return Recipe.check(table, MENU, recipe.name)


def anchored(table: Mapping[str, Any]) -> dict[str, Any]:
    """File names made absolute, so that a run can be gone on with from anywhere."""
    table = dict(table)
    data = table.get("data")
    if isinstance(data, dict) and data.get("kind", "files") == "files":
        named = {key: str(Path(data[key]).absolute()) for key in ("train", "valid", "test") if data.get(key)}
        table["data"] = data | named
    return table


def _together(recipe: Recipe, settings: Training, run: Run | None, together: Team) -> Task:
    """The leading process reads the data first; the others find them in the cache."""
    tokens = None if run is None else run.tokens
    task = prepare(recipe, settings.longest, tokens) if together.leads else None
    tokens = together.share(None if task is None else task.tokens())
    return task or prepare(recipe, settings.longest, tokens)


def _same(run: Run, recipe: Recipe, task: Task) -> None:
    """A run goes on with its own recipe and its own data, or not at all."""
    old, new = _flat(run.recipe), _flat(recipe.table())
    for key in sorted(old | new, key=lambda key: (key.rpartition(".")[0], not key.endswith(".kind"), key)):
        if key not in (*FREE, "name", "about") and old.get(key) != new.get(key):
            raise RecipeError(
                f"{key}: the run in {run.folder} has {old.get(key, 'none')!r}, now it says {new.get(key, 'none')!r}\n"
                "go on with the run's own recipe, or train a new run in another --out"
            )
    if run.facts.get("data") != task.facts()["data"]:
        raise InputError(f"{run.folder}: the data are not those this run began with; train a new run in another --out")


def _flat(table: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= _flat(value, f"{above}{key}.") if isinstance(value, Mapping) else {above + key: value}
    return flat
