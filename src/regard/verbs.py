"""What is done with trained runs: the calls behind the verbs of the command line."""

from collections.abc import Callable, Sequence
from pathlib import Path

from regard.datasets.data import Split
from regard.errors import InputError
from regard.listener import SILENT, Listener
from regard.looking.alignment import Alignment
from regard.tasks.task import Evaluation, Exam
from regard.tasks.translation import Translated, Translator
from regard.trained import Trained, open_run


def evaluate(
    run: str | Path | Trained,
    *,
    on: str = "",
    split: Split | None = None,
    like: Trained | None = None,
    stopped: Callable[[], bool] = lambda: False,
    listener: Listener = SILENT,
) -> Evaluation:
    """Score a run on its own test data (validation data, if it has none), on other files, or `like` another run."""
    trained = run if isinstance(run, Trained) else open_run(run)
    data = trained.task.data_from(on) if on else (like or trained).task.data
    chosen: Split = split or ("test" if data.has("test") else "valid")
    if not data.has(chosen):
        raise InputError(f"no {chosen} data to evaluate on; ", call="name files with on=…", flag="name files with --on")
    exam = Exam(data, chosen, stopped=stopped, listener=listener)
    found = trained.task.evaluate(trained.answerer, exam)
    if found is None:
        raise KeyboardInterrupt
    return found


def translate(
    run: str | Path | Trained, texts: Sequence[str] | str, *, beam: int = 0, n_best: int = 1
) -> list[Translated]:
    """Translate sentences or longer texts with a trained run."""
    translator = translator_of(run).resized(beam, n_best)
    return translator.translate([texts] if isinstance(texts, str) else texts)


def align(run: str | Path | Trained, source: str, target: str = "") -> Alignment:
    """Where a translator looks while it writes `target`, or what it would write itself."""
    translator = translator_of(run)
    return translator.align(source, target or translator.translate([source])[0].text)


def translator_of(run: str | Path | Trained) -> Translator:
    """What answers, if that is a translator."""
    trained = run if isinstance(run, Trained) else open_run(run)
    if not isinstance(trained.answerer, Translator):
        raise InputError(f"{trained.run.folder}: not a translator; its task is {trained.recipe.wants('task').kind}")
    return trained.answerer
