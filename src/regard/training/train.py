"""From a recipe to a trained run."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import torch

from regard.allocator import keep_memory
from regard.datasets.data import Report, Split
from regard.errors import InputError, RecipeError
from regard.listener import SILENT, Listener
from regard.model.assembly import Assembly
from regard.model.weights import load, shell
from regard.recipe import Recipe
from regard.recipe.override import Override
from regard.recipe.read import is_run
from regard.run import Checkpoint, Run
from regard.tasks.task import Task
from regard.training.events import Event, Prepared, Started
from regard.training.learner import Learner
from regard.training.log import check_board, logged
from regard.training.loop import Loop
from regard.training.menu import MENU
from regard.training.parallel import Processes, processes
from regard.training.settings import TrainingOptions
from regard.training.stop import Stop

MACHINE = ("device", "parallel")
FREE = (
    *(f"training.machine.{key}" for key in MACHINE),
    "training.checkpoints.keep",
    "training.checkpoints.tensorboard",
)


def train(
    recipe: str | Mapping[str, Any],
    *overrides: Override,
    out: str | Path | None = None,
    resume: bool = False,
    on_event: Callable[[Event], None] = lambda _: None,
) -> Run:
    """Train a recipe to its end: `train("gru-additive", "data.kind=numbers", out="runs/numbers")`."""
    run = None
    for event in training(recipe, *overrides, out=out, resume=resume):
        on_event(event)
        run = Run.open(event.folder) if isinstance(event, Started) else run
    assert run is not None
    return run


def training(
    recipe: str | Mapping[str, Any],
    *overrides: Override,
    out: str | Path | None = None,
    resume: bool = False,
    listener: Listener = SILENT,
    stop: Stop | None = None,
) -> Iterator[Event]:
    """Everything that happens while a recipe's model is trained in a run folder, begun or gone on with."""
    keep_memory()
    stop = stop or Stop()
    folder = _folder(recipe, out, resume)
    run = Run.open(folder) if resume else None
    asked = Recipe.resolve(recipe, MENU, overrides)
    settings: TrainingOptions = asked.wants("training").build()
    _refuse(asked, settings)
    with processes(settings.machine.device) as together:
        task, reports = _prepared(asked, run, together, listener)
        complete = asked.sized(task.sizes(), MENU)
        task.check(shell(complete.model.build))
        if together.leads:
            yield Prepared(reports)
        stop.heeded = True  # from here on there is a run, and whoever stops it is waited for
        if run is None and together.leads:
            more = {"plugins": complete.needs(MENU)}
            run = Run.create(folder, complete.table(), task.files(), task.data.fingerprint(), more)
        together.agree(False)
        run = run or Run.open(folder)
        _same(run, complete, task)
        with run.hold() if together.leads else nullcontext():
            checkpoint = _newest(run, listener if together.leads else SILENT)
            model = _model(complete, settings.seed, checkpoint)
            with closing(Learner(model, task, settings, together)) as learner:
                loop = Loop(learner, run, lambda weights: load(shell(complete.model.build), weights), stop, listener)
                loop.resume(checkpoint)
                tensorboard = settings.checkpoints.tensorboard
                yield from logged(iter(loop), run, tensorboard, Prepared(reports)) if together.leads else iter(loop)


def _folder(recipe: str | Mapping[str, Any], out: str | Path | None, resume: bool) -> Path:
    """The folder meant; to go on, naming the run is enough."""
    named = isinstance(recipe, str) and is_run(recipe)
    if named and not resume:
        raise InputError(f"{recipe}: there is a run already; go on with --resume, or name a recipe and another --out")
    if named:
        return Path(str(recipe))
    if resume and out is None:
        what = "not a run folder" if isinstance(recipe, str) and Path(recipe).is_dir() else "no such run"
        raise InputError(f"--resume {recipe}: {what}; name the folder of a run: `regard train runs/NAME --resume`")
    if out is not None and is_run(out) and not resume:
        raise InputError(f"{out}: there is a run already; go on with --resume, or choose another --out")
    name = Path(recipe).stem if isinstance(recipe, str) else str(recipe.get("name", "recipe"))
    return Path(out) if out is not None else _free(Path("runs") / name)


def _free(folder: Path) -> Path:
    """runs/name, or the first of runs/name-2, runs/name-3, … that is not there."""
    tries = (folder if n == 1 else folder.with_name(f"{folder.name}-{n}") for n in count(1))
    return next(path for path in tries if not path.exists())


def _prepared(
    recipe: Recipe, run: Run | None, together: Processes, listener: Listener
) -> tuple[Task, dict[Split, Report]]:
    """The task with its data ready. The leading process reads them first; the others find them in the cache."""
    kept = None if run is None else run.files
    part = recipe.wants("task")
    task: Task = part.build(kept)
    if together.leads:
        listener.at("reading the data")
    reports = task.prepare(listener) if together.leads else {}
    if together.size > 1:
        kept = together.share(task.files() if together.leads and kept is None else kept)
        if not together.leads:
            task = part.build(kept)
            task.prepare(SILENT)
    return task, reports


def _refuse(recipe: Recipe, settings: TrainingOptions) -> None:
    """What can be refused before any data are read."""
    task = recipe.wants("task")
    assert issubclass(task.entry, Task)
    if not issubclass(recipe.model.entry, task.entry.assembly):
        fit = [kind for kind, part in MENU.parts["model"].items() if issubclass(part.entry, task.entry.assembly)]
        raise RecipeError(f"model.kind: {task.kind} trains {', '.join(fit)}, and this is a {recipe.model.kind}")
    if settings.checkpoints.best_by not in task.entry.metrics:
        raise RecipeError(f"training.checkpoints.best_by: there is {', '.join(task.entry.metrics)}")
    if settings.checkpoints.tensorboard:
        check_board()


def _model(recipe: Recipe, seed: int, checkpoint: Checkpoint | None) -> Assembly:
    """Freshly made, or as it was saved."""
    if checkpoint is not None:
        loaded: Assembly = load(shell(recipe.model.build), checkpoint.weights())
        return loaded
    torch.manual_seed(seed)
    model: Assembly = recipe.model.build()
    return model


def _newest(run: Run, listener: Listener) -> Checkpoint | None:
    checkpoint = run.newest(listener, to_resume=True)
    if checkpoint is None and run.checkpoints():
        raise InputError(f"{run.folder}: none of its checkpoints is whole; train a new run in another --out")
    return checkpoint


def _same(run: Run, recipe: Recipe, task: Task) -> None:
    """A run goes on with its own recipe and its own data, or not at all."""
    old, new = _flat(run.recipe.items()), _flat(recipe.table().items())
    for key in sorted(old | new, key=lambda key: (key.rpartition(".")[0], not key.endswith(".kind"), key)):
        if key not in (*FREE, "name", "about") and old.get(key) != new.get(key):
            raise RecipeError(
                f"{key}: the run in {run.folder} has {old.get(key, 'none')!r}, now it says {new.get(key, 'none')!r}\n"
                "go on with the run's own recipe, or train a new run in another --out"
            )
    if run.facts.get("data") != task.data.fingerprint():
        raise InputError(f"{run.folder}: the data are not those this run began with; train a new run in another --out")


def _flat(table: Iterable[tuple[str, Any]], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table:
        flat |= _flat(value.items(), f"{above}{key}.") if isinstance(value, Mapping) else {above + key: value}
    return flat
