"""What is done with trained runs: the calls behind the verbs of the command line."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import get_args

from regard.datasets.data import Split
from regard.errors import InputError
from regard.listener import SILENT, Listener
from regard.looking.alignment import Alignment
from regard.model.mode import evaluating
from regard.run import Run
from regard.tasks.task import Evaluation, Exam
from regard.tasks.translation import Translated, Translator
from regard.trained import Trained, open_run

RunLike = str | Path | Run | Trained
"""A run: its folder, what `train` returned, or what `open_run` opened."""


def opened(run: RunLike) -> Trained:
    """Any way to name a run, opened for use."""
    if isinstance(run, Trained):
        return run
    if isinstance(run, str | Path | Run):
        return open_run(run.folder if isinstance(run, Run) else run)
    raise InputError(f"wanted a run (its folder, or what train or open_run returned), given {_named(run)}")


def evaluate(
    run: RunLike,
    *,
    on: str | Path = "",
    split: Split | None = None,
    like: RunLike | None = None,
    stopped: Callable[[], bool] = lambda: False,
    listener: Listener = SILENT,
) -> Evaluation:
    """Score a run on its own test data (validation data, if it has none), on other files, or `like` another run."""
    if not isinstance(on, str | Path):
        raise InputError(f"on: wanted the name of files, given {_named(on)}")
    if split is not None and split not in get_args(Split):
        raise InputError(f"split: wanted {', '.join(get_args(Split))}, given {split!r}")
    trained = opened(run)
    data = trained.task.data_from(str(on)) if str(on) else (trained if like is None else opened(like)).task.data
    chosen: Split = split or ("test" if data.has("test") else "valid")
    if not data.has(chosen):
        raise InputError(f"no {chosen} data to evaluate on; ", call="name files with on=…", flag="name files with --on")
    exam = Exam(data, chosen, stopped=stopped, listener=listener)
    with evaluating(trained.model):
        found = trained.task.evaluate(trained.answerer, exam)
    if found is None:
        raise KeyboardInterrupt
    return found


def translate(
    run: RunLike, texts: str | Iterable[str], *, beam: int = 0, n_best: int = 1, listener: Listener = SILENT
) -> list[Translated]:
    """Translate a text or several, of any length, with a trained run: as many answers, in their order."""
    rows = checked(texts)
    translator = translator_of(run).resized(beam, n_best)
    found: dict[int, Translated] = {}
    for number, one in translator.stream(rows):
        found[number] = one
        listener.at("translating", len(found), len(rows))
    return [found[number] for number in range(len(rows))]


def align(run: RunLike, source: str, target: str = "") -> Alignment:
    """Where a translator looks while it writes `target`, or what it would write itself."""
    (asked,), said = checked([source]), checked([target])[0]
    if not asked.strip():
        raise InputError("nothing to look at: the source is empty")
    translator = translator_of(run)
    return translator.align(asked, said or translator.translate([asked])[0].text)


def translator_of(run: RunLike) -> Translator:
    """What answers, if that is a translator."""
    trained = opened(run)
    if not isinstance(trained.answerer, Translator):
        raise InputError(f"{trained.run.folder}: not a translator; its task is {trained.recipe.wants('task').kind}")
    return trained.answerer


def checked(texts: object) -> list[str]:
    """One text or any number of them (a list, a generator, the lines of a file), each of which must be one."""
    if isinstance(texts, str):
        return [texts]
    if isinstance(texts, bytes | Mapping) or not isinstance(texts, Iterable):
        raise InputError(f"wanted a text or several texts, given {_named(texts)}")
    rows = []
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"texts[{number}]: wanted a text, given {_named(text)}")
        rows.append(text)
    return rows


def _named(given: object) -> str:
    """What somebody gave instead, and what mends it."""
    if isinstance(given, bytes):
        return "bytes; decode them first: .decode('utf-8')"
    if given is None:
        return "None"
    shown = repr(given)
    return f"{type(given).__name__} {shown if len(shown) < 40 else shown[:36] + ' …'}"
