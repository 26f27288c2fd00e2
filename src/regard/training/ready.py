"""All that comes before the first step: the task with its data, the model, and what learns it."""

from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import torch

from regard.datasets.data import Report, Split
from regard.errors import RecipeError
from regard.listener import SILENT, Listener
from regard.matmul import LIBRARIES, ROWS, Matmul, choose_matmul, describe_processor
from regard.model.assembly import Assembly
from regard.model.bounds import check_sizes
from regard.model.recurrent.cells import Cell
from regard.model.weights import load, shell
from regard.recipe import Recipe
from regard.run import Checkpoint
from regard.run.told import kept_reports
from regard.tasks.task import Task
from regard.training.asked import Asked
from regard.training.begin import Base, check_parts, open_base, same_base, told
from regard.training.learner import Learner
from regard.training.log import check_board
from regard.training.memory import check_batches, check_weights
from regard.training.menu import MENU
from regard.training.parallel import Processes
from regard.training.resume import check_longer, check_same, newest
from regard.training.settings import Start, TrainingOptions

# A recurrent model multiplies a batch's rows at every time step, others all tokens of a batch at once.
RECURRENT_ROWS = 32


@dataclass(frozen=True)
class Prepared:
    """A task whose data are ready, with the recipe completed by what they say."""

    asked: Asked
    settings: TrainingOptions
    together: Processes
    listener: Listener
    task: Task
    reports: dict[Split, Report]
    recipe: Recipe


@dataclass
class Ready:
    """A learner that has not taken a step yet, and what is known of where it stands."""

    learner: Learner
    matmul: Matmul
    checkpoint: Checkpoint | None
    changed: dict[str, Any]
    origin: dict[str, Any] | None


def refuse(recipe: Recipe, settings: TrainingOptions) -> None:
    """What can be refused before any data are read."""
    task = recipe.wants("task")
    assert issubclass(task.entry, Task)
    if not issubclass(recipe.model.entry, task.entry.assembly):
        fit = [kind for kind, part in MENU.parts["model"].items() if issubclass(part.entry, task.entry.assembly)]
        raise RecipeError(f"model.kind: {task.kind} trains {', '.join(fit)}, and this is a {recipe.model.kind}")
    if settings.checkpoints.best_by not in task.entry.metrics:
        given = settings.checkpoints.best_by
        raise RecipeError(f"training.checkpoints.best_by: there is {', '.join(task.entry.metrics)}; given {given!r}")
    if settings.checkpoints.tensorboard:
        check_board()
    check_sizes(recipe.model)
    model = shell(recipe.model.build)  # whatever its parts refuse, before minutes go into reading
    if recipe.start is not None:
        check_parts(recipe.start.build(), model)


def prepared(asked: Asked, settings: TrainingOptions, together: Processes, listener: Listener) -> Prepared:
    """The task with its data ready. The leading process reads them first; the others find them in the cache."""
    kept = None if asked.run is None else asked.run.files
    part = asked.recipe.wants("task")
    task: Task = part.build(kept)
    task.check_model(shell(asked.recipe.model.build))
    if asked.base is not None:
        asked.base.hand_over(task)
    reports = task.prepare(listener) if together.leads else {}
    if asked.run is not None and together.leads:  # what it is tested on is not read again
        reports |= {split: report for split, report in kept_reports(asked.run.facts).items() if split not in reports}
    if together.size > 1:
        kept = together.share(task.files() if together.leads and kept is None else kept)
        if not together.leads:
            task = part.build(kept)
            task.prepare(SILENT)
    complete = asked.recipe.sized(task.sizes(), MENU)
    model = shell(complete.model.build)
    task.check(model)
    check_weights(model, settings, together.device)
    return Prepared(asked, settings, together, listener if together.leads else SILENT, task, reports, complete)


def ready(stack: ExitStack, made: Prepared) -> Ready:
    """The learner, as it begins or as it was saved."""
    run, checkpoint, changed = made.asked.run, None, dict[str, Any]()
    if run is not None:
        changed = check_same(run, made.recipe, made.task)
        checkpoint = newest(run, made.listener)
    model, origin = _model(made, checkpoint)
    matmul = _choose_matmul(made, model)
    learner = stack.enter_context(closing(Learner(model, made.task, made.settings, made.together, matmul.library)))
    check_batches(learner)
    if run is not None:
        check_longer(run, made.recipe, changed, len(learner.batches), checkpoint, made.listener)
    return Ready(learner, matmul, checkpoint, changed, origin)


def _choose_matmul(made: Prepared, model: Assembly) -> Matmul:
    """The library that multiplies: the run's own where it goes on, so that it ends with the same bits."""
    choice, wanted, run = Matmul("mkl"), made.settings.machine.matmul, made.asked.run
    if made.together.leads and made.together.device.type == "cpu":
        if run is not None:
            # Runs that say nothing are from before there was a choice.
            kept = run.facts.get("machine", {"matmul": "mkl", "processor": describe_processor()})
            # On another processor the same library may round to bfloat16: it is measured anew there.
            if kept.get("processor") == describe_processor():
                wanted = kept["matmul"] if wanted == "auto" and kept.get("matmul") in LIBRARIES else wanted
            else:
                made.listener.say(
                    f"{made.asked.folder}: this run began on another processor; results may differ in the last digits "
                    "from those of a run that was not interrupted"
                )
        recurrent = any(isinstance(part, Cell) for part in model.modules())
        choice = choose_matmul(model, wanted, RECURRENT_ROWS if recurrent else ROWS)
    shared: Matmul = made.together.share(choice)
    return shared


def _model(made: Prepared, checkpoint: Checkpoint | None) -> tuple[Assembly, dict[str, Any] | None]:
    """As it was saved, or freshly made, with what was asked for from another run; and where that came from."""
    if checkpoint is not None:
        loaded: Assembly = load(shell(made.recipe.model.build), checkpoint.weights(), copy=False)
        return loaded, None
    torch.manual_seed(made.settings.seed)
    model: Assembly = made.recipe.model.build()
    if made.recipe.start is None:
        return model, None
    start: Start = made.recipe.start.build()
    base = made.asked.base or _again(made, start)
    copied, fresh = base.fill(model, start, made.task)
    made.listener.say(told(base, copied, fresh, base.left_behind(model, start)))
    taken = {"copied": copied, "fresh": fresh, "sections": list(base.sections)}
    return model, base.facts() | taken | base.scores(made.task)


def _again(made: Prepared, start: Start) -> Base:
    """The run that one began from which has saved nothing yet."""
    run = made.asked.run
    facts = {} if run is None else run.facts.get("from", {})
    base = open_base(start, facts.get("sections", ()), made.listener)
    same_base(base, facts)
    return base
