"""How good a run is, alone and beside others."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import get_args

from regard.datasets.data import Data, Split
from regard.errors import InputError
from regard.listener import SILENT, Listener
from regard.model.mode import evaluating
from regard.recipe.override import Override
from regard.tasks.evaluation import Scored
from regard.tasks.task import Evaluation, Exam
from regard.trained import Trained
from regard.verbs.given import named
from regard.verbs.runs import RunLike, opened


def evaluate(
    run: RunLike,
    *overrides: Override,
    on: str | Path = "",
    split: Split | None = None,
    like: RunLike | None = None,
    beam: int = 0,
    device: str | None = None,
    int8: bool = False,
    stopped: Callable[[], bool] = lambda: False,
    listener: Listener = SILENT,
) -> Evaluation:
    """Score a run on its own test data (validation data, if it has none), on other files, or `like` another run."""
    if not isinstance(on, str | Path):
        raise InputError(f"on: wanted the name of files, given {named(on)}")
    if split is not None and split not in get_args(Split):
        raise InputError(f"split: wanted {', '.join(get_args(Split))}, given {split!r}")
    if split is not None and on:
        raise InputError("split: other files are scored whole; leave out split=… or on=…")
    trained = opened(run, *overrides, beam=beam, device=device, int8=int8, listener=listener)
    data, chosen = _examined(trained, str(on), split, trained if like is None else opened(like))
    if data is trained.task.data and data.fingerprint() != trained.run.facts.get("data"):
        listener.say(f"{trained.run.folder}: its data are not what they were when it was trained")
    with evaluating(trained.model):
        found = trained.task.evaluate(trained.answerer, Exam(data, chosen, stopped=stopped, listener=listener))
    if found is None:
        raise KeyboardInterrupt
    how = trained.task.manner(trained.answerer) + (", int8" if trained.int8 else "")
    if on:
        learnt = trained.task.learnt_from(data)
    elif data.fingerprint() == trained.run.facts.get("data"):
        learnt = chosen == "train"
    else:
        learnt = None  # data of another run, or changed since
    scored = Scored(data.called(chosen), None if on else chosen, trained.step, how, data.fingerprint(), learnt)
    return found.of(scored)


def _examined(trained: Trained, on: str, split: Split | None, like: Trained) -> tuple[Data[object], Split]:
    """The data that a run is to be scored on, and which part of them."""
    if trained.task.said and not on:
        raise InputError(
            f"{', '.join(trained.task.said)}: says how other files are read, and its own are read as they were; ",
            call="name files with on=…",
            flag="name files with --on",
        )
    data = trained.task.data_from(on) if on else like.task.data
    chosen: Split = split or ("test" if data.has("test") else "valid")
    if not data.has(chosen):
        raise InputError(f"no {chosen} data to evaluate on; ", call="name files with on=…", flag="name files with --on")
    return data, chosen


def compare(runs: Sequence[Trained], on: str = "") -> list[str]:
    """Refuse runs that nothing can be said of side by side; what must be minded with the others."""
    first, said = runs[0], list[str]()
    for other in runs[1:]:
        kinds = [one.recipe.wants("task").kind for one in (first, other)]
        two = f"{first.run.folder} and {other.run.folder}"
        if kinds[0] != kinds[1]:
            raise InputError(f"{two} cannot be compared: the task of one is {kinds[0]}, of the other {kinds[1]}")
        if first.run.facts.get("data") != other.run.facts.get("data"):
            said.append(
                f"{two} learnt from different data; both are scored on {on or f'those of {first.run.folder}'}, "
                f"of which {'one of them' if on else other.run.folder} may have seen some"
            )
        said += [f"{two}: {why}" for why in first.task.unlike(other.task)]
    return said
